"""Deleting an account: who it was is gone, what was handed in stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from axes.models import AccessAttempt, AccessFailureLog
from django.apps import apps
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.contrib.auth import authenticate
from django.contrib.contenttypes.models import ContentType
from django.core import serializers
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from annotation.models import Caption, CaptionState
from annotation.services import batches
from core.allocation.services.errors import BatchReturnedError
from core.people.models import ApiToken, AuditEntry, Invitation, Membership, Project, Role, Session, User
from core.people.rules.pseudonyms import pseudonym
from core.people.selectors.qualification import NotQualifiedError
from core.people.services.accounts import delete_account
from core.people.services.invitations import invite
from core.people.services.members import LastManagerError, add_member
from tests.annotation.submitting import submit_captions, take, write
from tests.clients import client_of
from tests.concurrency import together_with_errors
from tests.factories import NOW, make_annotator, make_project, make_round, make_user
from tests.people.conftest import PASSWORD
from tests.queries import queries_of

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
ADDRESS = reverse("people:account-delete")


@pytest.fixture
def ann(db) -> User:
    """Somebody who left traces everywhere."""
    round = make_round(images=4, replication=2, batch_size=2)
    ann = make_annotator(round, "Annabelle")
    ann.first_name, ann.last_name = "Annabelle", "Annason"
    ann.set_password(PASSWORD)
    ann.save()
    EmailAddress.objects.create(user=ann, email=ann.email, verified=True, primary=True)
    Authenticator.objects.create(user=ann, type=Authenticator.Type.TOTP, data={})
    AccessAttempt.objects.create(username="annabelle", ip_address="10.0.0.1", failures_since_start=1)
    about = {"prefix": "clt_ab", "digest": "0" * 64, "created_at": NOW, "expires_at": LATER}
    ApiToken.objects.create(user=ann, name="Annabelle's script", **about)
    invitation = invite(
        project=round.project,
        role=Role.ANNOTATOR,
        email="Annabelle@example.org",
        note="for Annabelle",
        expires_at=LATER,
        created_by=round.project.created_by,
        now=NOW,
    )
    assert invitation.places == 1
    asked = {"asked_at": NOW, "due_at": NOW, "asked_by": invitation.created_by, "site": "http://testserver/"}
    invitation.mails.create(state="failed", reason="550 <Annabelle@example.org> is unknown", **asked)
    submit_captions(round, ann)
    return ann


def everything() -> str:
    models = [model for model in apps.get_models() if model.objects.exists()]  # type: ignore[attr-defined]
    return "\n".join(serializers.serialize("json", model._base_manager.all()) for model in models).casefold()


def changed_in_admin(row: Model, flag: int = CHANGE, *, user: User | None = None) -> None:
    of = {"content_type": ContentType.objects.get_for_model(row), "object_id": str(row.pk), "object_repr": str(row)}
    LogEntry.objects.create(user=user or make_user(), action_flag=flag, **of)


@pytest.mark.postgres
def test_nothing_that_names_a_person_is_left_anywhere(ann: User):
    assert "annabelle" in everything()
    delete_account(user=ann, now=LATER)
    assert "annabelle" not in everything()
    assert "annason" not in everything()


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("is_gone", [False, True])
def test_the_log_of_the_admin_names_nobody_either(ann: User, is_gone: bool):
    address = EmailAddress.objects.get(user=ann)
    failure = AccessFailureLog.objects.create(username="annabelle", ip_address="10.0.0.1")
    for row in (ann, address, failure):
        changed_in_admin(row, DELETION if is_gone else CHANGE)
    if is_gone:
        address.delete()
        failure.delete()
    delete_account(user=ann, now=LATER)
    assert "annabelle" not in everything()
    assert LogEntry.objects.count() == 3


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("name", ["Annabelle", "user", "on"])
def test_the_log_of_the_admin_goes_on_naming_others(ann: User, name: str):
    User.objects.filter(pk=ann.pk).update(username=name)
    failure = AccessFailureLog.objects.create(username="joannabelle", ip_address="10.0.0.1")
    address = EmailAddress.objects.create(user=make_user(), email="joannabelle@example.org")
    for row in (failure, address):
        changed_in_admin(row, user=address.user)
    delete_account(user=ann, now=LATER)
    assert {entry.object_repr for entry in LogEntry.objects.all()} == {str(failure), str(address)}


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("is_of_another", [False, True])
def test_an_address_that_was_never_confirmed_goes_too_unless_another_account_has_it(ann: User, is_of_another: bool):
    address = "second@example.org"
    EmailAddress.objects.create(user=ann, email=address)
    if is_of_another:
        make_user(email=address)
    failure = AccessFailureLog.objects.create(username=address, ip_address="10.0.0.1")
    AccessAttempt.objects.create(username=address, ip_address="10.0.0.1", failures_since_start=1)
    changed_in_admin(failure)
    Invitation.objects.update(email="Second@Example.org")
    delete_account(user=ann, now=LATER)
    assert not EmailAddress.objects.filter(user=ann).exists()
    assert (address in everything()) == is_of_another
    assert (Invitation.objects.get().email == "Second@Example.org") == is_of_another


@pytest.mark.long(reason="at least three others run each of its lines")
def test_answers_stay_under_the_same_pseudonym_and_the_row_stays(ann: User):
    project = Project.objects.get()
    before = pseudonym(project, ann.pk)
    delete_account(user=ann, now=LATER)
    gone = User.objects.get(pk=ann.pk)
    assert (gone.deleted_at, gone.is_active, gone.has_usable_password()) == (LATER, False, False)
    assert Caption.objects.filter(author=gone, state=CaptionState.COUNTED).count() == 2
    assert pseudonym(project, gone.pk) == before
    assert not Membership.objects.filter(user=gone).exists()
    entry = AuditEntry.objects.get(action="account.deleted")
    assert (entry.project, entry.person) == (project, gone)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_nobody_comes_in_by_it_any_more_and_its_sessions_are_gone(ann: User, rf):
    client = client_of(ann)
    client_of(make_user())
    assert Session.objects.count() == 2
    queries = queries_of(lambda: delete_account(user=ann, now=LATER))
    about_sessions = [query for query in queries if Session._meta.db_table in query]
    assert not [sql for sql in about_sessions if "session_data" in sql], "decodes what is not of this person"
    assert Session.objects.count() == 1
    assert client.get(reverse("people:profile-show")).status_code == 302
    assert authenticate(rf.post("/"), username="Annabelle", password=PASSWORD) is None
    assert not User.objects.filter(username__iexact="annabelle").exists()


def test_done_twice_it_is_done_once(ann: User):
    delete_account(user=ann, now=LATER)
    name = User.objects.get(pk=ann.pk).username
    delete_account(user=ann, now=LATER + timedelta(days=1))
    assert User.objects.get(pk=ann.pk).username == name
    assert AuditEntry.objects.filter(action="account.deleted").count() == 1


def test_the_last_manager_is_told_of_which_projects_and_can_go_once_there_is_another(db):
    mia = make_user("mia")
    lions, zebras = make_project("lions", manager=mia), make_project("zebras", manager=mia)
    add_member(project=zebras, user=make_user(), role=Role.MANAGER)
    with pytest.raises(LastManagerError, match=r"manages Lions\."):
        delete_account(user=mia, now=LATER)
    assert User.objects.get(pk=mia.pk).username == "mia"
    add_member(project=lions, user=make_user(), role=Role.MANAGER)
    delete_account(user=mia, now=LATER)
    assert Project.objects.get(pk=lions.pk).created_by.username.startswith("deleted-")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_page_says_what_becomes_of_what_and_asks_for_the_password(ann_with_password: User):
    client = Client()
    client.post(reverse("account_login"), {"login": "Ann", "password": PASSWORD})
    page = client.get(ADDRESS)
    assert "no-store" in page["Cache-Control"]
    for shown in ("What is removed", "What stays", "pseudonym"):
        assert shown in page.content.decode()
    assert client.post(ADDRESS, {}).status_code == 302
    asked = client.post(ADDRESS, {"understood": "on"})
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert User.objects.get(pk=ann_with_password.pk).deleted_at is None
    wrong = client.post(asked["Location"], {"password": "wrong"})
    assert wrong.status_code == 200
    done = client.post(asked["Location"], {"password": PASSWORD}, follow=True)
    assert "Your account has been deleted" in done.content.decode()
    assert User.objects.get(pk=ann_with_password.pk).deleted_at is not None


def test_the_page_refuses_without_the_tick_and_names_the_projects_of_the_last_manager(manager: User):
    client = client_of(manager)
    assert client.post(ADDRESS, {}).status_code == 422
    assert "Lions" in client.get(ADDRESS).content.decode()
    refused = client.post(ADDRESS, {"understood": "on"})
    assert refused.status_code == 422
    assert User.objects.get(pk=manager.pk).deleted_at is None


def test_an_invitation_for_several_people_keeps_its_note(ann: User):
    Invitation.objects.update(places=5, email="")
    delete_account(user=ann, now=LATER)
    assert Invitation.objects.get().note == "for Annabelle"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_deleting_while_a_batch_is_submitted_loses_nothing_that_was_accepted():
    round = make_round(images=2, replication=2, batch_size=2)
    ann = make_annotator(round, "ann")
    batch = take(round, ann)
    write(batch, ann, "Ein Bild")

    def act(what: str) -> object:
        if what == "delete":
            delete_account(user=ann, now=LATER)
            return None
        return batches.submit_batch(batch_id=batch.pk, person=ann, now=LATER)

    deleted, submitted = together_with_errors(act, ["delete", "submit"])
    assert deleted is None
    accepted = not isinstance(submitted, BaseException)
    assert accepted or isinstance(submitted, NotQualifiedError | BatchReturnedError | batches.IncompleteBatchError), (
        submitted
    )
    captions = Caption.objects.filter(author=ann, state=CaptionState.COUNTED).count()
    assert captions == (2 if accepted else 0)
    assert sum(task.task.places_taken for task in round.tasks.select_related("task")) == captions
    assert User.objects.get(pk=ann.pk).deleted_at == LATER


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_managers_who_delete_themselves_at_once_leave_one():
    project = make_project()
    add_member(project=project, user=make_user(), role=Role.MANAGER)
    managers = [membership.user for membership in project.memberships.all()]
    outcomes = together_with_errors(lambda user: delete_account(user=user, now=LATER), managers)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["LastManagerError", "NoneType"]
    assert project.memberships.filter(role=Role.MANAGER).count() == 1
