"""Personal links that a manager replaces or ends: the same account goes on, and nobody stays in it by the old link."""

from __future__ import annotations

import smtplib
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from allauth.account.utils import perform_login
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.services.batches import take_batch
from core.people.models import AuditEntry, Membership, PersonalLink, Project, Role, User
from core.people.services import personal_links
from core.people.services.personal_links import (
    LinkError,
    check_link,
    make_link,
    renew_link,
    replace_link,
    revoke_link,
    use_link,
)
from core.people.views import personal_links as pages
from tests.api.seeded import Program
from tests.clients import client_of
from tests.concurrency import together_with_errors
from tests.factories import NOW, join_project, make_annotator, make_project, make_round, make_user
from tests.people.test_personal_links import token_of

pytestmark = pytest.mark.django_db
SITE = "http://testserver/"


@pytest.fixture
def zoe(project: Project) -> User:
    """Somebody who began with a link and gave no address."""
    return with_link(project, "zoe")


def with_link(project: Project, name: str, **about: Any) -> User:
    person = join_project(project, make_user(name, **({"email": ""} | about)))
    make_link(user=person, now=timezone.now())
    return person


def opened(person: User) -> tuple[Client, str]:
    """Return a browser that the person's link signed in, and its address."""
    address = reverse("people:link-open", args=[make_link(user=person, now=timezone.now())])
    client = Client()
    assert client.post(address).status_code == 302
    return client, address


def is_signed_in(client: Client, person: User) -> bool:
    return bool(client.get("/profile/").wsgi_request.user == person)


def page_of(person: User, name: str = "people:link-replace") -> str:
    membership = Membership.objects.get(project__slug="lions", user=person)
    return reverse(name, args=["lions", membership.pk])


def replaced(manager: Client, person: User) -> str:
    """Replace the link on the page of the manager; return the path of the new one."""
    shown: str = manager.post(page_of(person)).context["address"]
    return "/" + shown.removeprefix(SITE)


def test_who_lost_a_link_goes_on_with_the_same_account_and_the_same_batch(project: Project) -> None:
    round = make_round(project=project)
    zoe = make_annotator(round, "zoe")
    User.objects.filter(pk=zoe.pk).update(email="")
    zoe.refresh_from_db()
    lost, address = opened(zoe)
    batch = take_batch(round=round, person=zoe, now=timezone.now(), rng=Random(0))

    manager = client_of(project.created_by)
    assert page_of(zoe) in manager.get(reverse("people:member-list", args=["lions"])).content.decode()
    new = replaced(manager, zoe)
    assert new not in manager.get(page_of(zoe)).content.decode(), "it is shown once"

    ended = Client().post(address)
    assert (ended.status_code, reverse("account_login") in ended.content.decode()) == (404, True)
    assert "Ask the manager of your project for a new link" in ended.content.decode()
    assert not is_signed_in(lost, zoe)
    browser = Client()
    browser.post(new)
    assert is_signed_in(browser, zoe)
    assert reverse("annotation:batch-show", args=[batch.pk]) in browser.get("/work/").content.decode()
    entry = project.audit_entries.latest("number")
    assert (entry.action, entry.by, entry.person) == ("link.replaced", project.created_by, zoe)


def test_a_link_that_was_revoked_is_given_back_even_if_the_project_is_archived(project: Project, zoe: User) -> None:
    client, address = opened(zoe)
    manager = client_of(project.created_by)
    Project.objects.update(archived_at=timezone.now())
    for _time in range(2):
        assert manager.post(page_of(zoe, "people:link-revoke")).status_code == 302
    assert Client().post(address).status_code == 404
    assert not is_signed_in(client, zoe)
    assert project.audit_entries.filter(action="link.revoked").count() == 1
    browser = Client()
    browser.post(replaced(manager, zoe))
    assert is_signed_in(browser, zoe)


def test_it_is_sent_to_an_address_that_was_confirmed_and_then_shown_to_nobody(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    yan = with_link(project, "yan", email="yan@example.org", interface_language="de")
    manager = client_of(project.created_by)
    shown = manager.get(page_of(yan)).content.decode()
    assert "The person can still get a new password, by an e-mail to yan@example.org." in shown
    answer = manager.post(page_of(yan), follow=True)
    token = mail.outbox[0].body.split("/link/")[1].partition("/")[0]
    assert mail.outbox[0].to == ["yan@example.org"]
    assert use_link(token=token, now=timezone.now()) == yan
    assert token not in answer.content.decode()
    assert "yan@example.org" in answer.content.decode()

    def down(**_about: Any) -> None:
        raise smtplib.SMTPServerDisconnected

    monkeypatch.setattr(personal_links, "mail_link", down)
    assert "could not be sent" in manager.post(page_of(yan)).content.decode()
    refused = Program(project.created_by).post(page_of(yan, "api:member-link"))
    assert (refused.status_code, refused.json()["code"]) == (409, "link-not-sent")
    assert use_link(token=token, now=timezone.now()) == yan, "what could not be sent replaces nothing"
    assert project.audit_entries.filter(action="link.replaced").count() == 1


def test_whoever_also_works_elsewhere_is_only_removed_from_this_project(project: Project, zoe: User) -> None:
    """The link opens what is theirs everywhere. An administrator, and a manager of all of it, may replace it."""
    zebras = make_project("zebras")
    join_project(zebras, zoe)
    client, address = opened(zoe)
    manager = client_of(project.created_by)
    refusal = manager.get(page_of(zoe)).content.decode()
    assert "Only an administrator can replace the link." in refusal, "no page lets one revoke it"
    assert "address" not in manager.post(page_of(zoe)).context
    assert "Only an administrator" in manager.post(page_of(zoe, "people:link-revoke"), follow=True).content.decode()
    zebras.memberships.filter(user=zoe).delete()
    assert "Only an administrator" in manager.get(page_of(zoe)).content.decode(), "what they agreed to is there"
    assert is_signed_in(client, zoe)
    assert not AuditEntry.objects.filter(action__startswith="link.").exists()

    admin = client_of(make_user(is_staff=True, is_superuser=True))
    asked = {"action": "replace_link", "_selected_action": [zoe.pk]}
    shown = admin.post(reverse("admin:people_user_changelist"), asked).context["address"]
    assert Client().post(address).status_code == 404
    assert use_link(token=token_of(shown), now=timezone.now()) == zoe
    assert AuditEntry.objects.filter(action="link.replaced", person=zoe).count() == 2
    Membership.objects.create(project=zebras, user=project.created_by, role=Role.MANAGER)
    assert replaced(manager, zoe)
    manager.post(reverse("people:member-remove", args=["lions", zoe.memberships.get().pk]))
    assert not zoe.memberships.exists()


def test_who_signs_in_otherwise_is_given_no_link(project: Project, zoe: User) -> None:
    manager = project.created_by
    Membership.objects.create(project=project, user=zoe, role=Role.RESEARCHER)
    with pytest.raises(LinkError, match="cannot sign in by a personal link"):
        check_link(person=zoe, by=manager)
    ann = join_project(project, make_user("ann"))
    assert client_of(manager).get(page_of(ann)).status_code == 404


def test_a_program_replaces_and_revokes_it_as_the_page_does(project: Project, zoe: User) -> None:
    program = Program(project.created_by)
    where = page_of(zoe, "api:member-link")
    program.headers["Idempotency-Key"] = "a-1"
    made, again = program.post(where), program.post(where)
    assert (made.status_code, made.json()["is_sent"]) == (201, False)
    assert again.json() == made.json() | {"link": None}
    assert use_link(token=token_of(made.json()["link"]), now=timezone.now()) == zoe
    assert program.delete(where).status_code == 204
    assert use_link(token=token_of(made.json()["link"]), now=timezone.now()) is None
    join_project(make_project("zebras"), zoe)
    refused = program.delete(where)
    assert (refused.status_code, refused.json()["code"]) == (409, "link-refused")


@pytest.mark.parametrize("end", [replace_link, revoke_link])
def test_who_is_just_being_signed_in_by_the_old_link_is_signed_out(
    project: Project, zoe: User, end: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link is read, then it ends, and only then the session is stored."""
    assert not _signed_in_meanwhile(project, zoe, end, monkeypatch)


def test_control_unless_what_stands_for_the_password_changes_they_stay(
    project: Project, zoe: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(User, "set_unusable_password", lambda _user: None)
    assert _signed_in_meanwhile(project, zoe, replace_link, monkeypatch)


def _signed_in_meanwhile(
    project: Project, person: User, end: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> bool:
    really = perform_login
    about = {"site": SITE} if end is replace_link else {}

    def late(*args: Any, **kwargs: Any) -> Any:
        end(person=person, by=project.created_by, now=timezone.now(), **about)
        return really(*args, **kwargs)

    monkeypatch.setattr(pages, "perform_login", late)
    browser, token = Client(), make_link(user=person, now=timezone.now())
    browser.post(reverse("people:link-open", args=[token]))
    return is_signed_in(browser, person)


def test_a_link_that_ended_after_it_was_read_is_not_brought_back(
    project: Project, zoe: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = make_link(user=zoe, now=timezone.now())
    monkeypatch.setattr(personal_links, "person_of_link", lambda *_about, **_more: zoe)
    revoke_link(person=zoe, by=project.created_by, now=timezone.now())
    assert use_link(token=token, now=timezone.now()) is None
    assert PersonalLink.objects.get().expires_at <= timezone.now()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_who_renews_it_in_another_browser_at_the_same_moment_does_not_end_the_one_that_the_manager_made(
    project: Project, zoe: User
) -> None:
    assert _manager_s_link_works(project, zoe, renew_link)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_the_one_that_the_manager_made_ends(project: Project, zoe: User) -> None:
    read = threading.Event()

    def without_a_lock(*, user: User, this: str | None, now: Any) -> str:
        assert User.objects.filter(pk=user.pk, password=user.password).exists()
        read.set()
        assert replaced_by_now.wait(60)
        return make_link(user=user, this=this, now=now)

    replaced_by_now = threading.Event()
    assert not _manager_s_link_works(project, zoe, without_a_lock, before=read, after=replaced_by_now)


def _manager_s_link_works(
    project: Project,
    person: User,
    renew: Callable[..., str],
    before: threading.Event | None = None,
    after: threading.Event | None = None,
) -> bool:
    make_link(user=person, now=NOW)

    def replace() -> str:
        if before is not None:
            assert before.wait(60)
        address = replace_link(person=person, by=project.created_by, site=SITE, now=NOW)
        if after is not None:
            after.set()
        return address

    owner = User.objects.get(pk=person.pk)
    address, _renewed = together_with_errors(lambda do: do(), [replace, lambda: renew(user=owner, this=None, now=NOW)])
    assert isinstance(address, str), address
    return use_link(token=token_of(address), now=NOW) == person
