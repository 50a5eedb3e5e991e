from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress

from core.people.models import Consent, Invitation, InvitationUse, LanguageLevel, Membership, Project, Role, User
from core.people.services.accounts import set_language_skills
from core.people.services.consent import WithdrawalOutcome, give_consent, publish_consent_text, withdraw_consent
from core.people.services.invitations import (
    InvitationClosedError,
    UserNameTakenError,
    accept_invitation,
    join,
    revoke_invitation,
)
from core.people.services.members import LastManagerError, RoleConflictError, add_member, create_project, remove_member
from tests.factories import NOW, make_project, make_user
from tests.people.invitations import make_invitation

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=2)


@pytest.fixture
def project() -> Project:
    return make_project()


def accept(invitation: Invitation, user: User, **about) -> Membership:
    values: dict[str, Any] = {
        "levels": {"de": LanguageLevel.NATIVE},
        "reads_english": True,
        "consent_version": 1,
        "now": NOW,
    }
    return accept_invitation(token=invitation.token, user=user, **(values | about))


def test_a_new_project_has_its_manager_a_consent_text_and_an_address_of_its_own():
    manager = make_user()
    project = create_project(name="Löwen & Zebras", manager=manager)
    assert project.slug == "lowen-zebras"
    assert [(held.user, held.role) for held in project.memberships.all()] == [(manager, Role.MANAGER)]
    text = project.consent_texts.get()
    assert text.version == 1
    for matter in ("ratings, captions", "how long", "licence", "pseudonym", "withdraw"):
        assert matter in text.body
    slugs = [create_project(name="مشروع", manager=manager).slug for _ in range(3)]
    assert slugs == ["project", "project-2", "project-3"]


def test_accepting_twice_takes_one_place(project: Project):
    user = make_user()
    invitation = make_invitation(project, now=NOW, places=2)
    assert accept(invitation, user) == accept(invitation, user)
    invitation.refresh_from_db()
    assert invitation.places_taken == 1
    assert InvitationUse.objects.count() == Consent.objects.count() == 1


def test_who_has_the_role_already_takes_no_place(project: Project):
    user = make_user()
    add_member(project=project, user=user, role=Role.ANNOTATOR)
    invitation = make_invitation(project, now=NOW)
    accept(invitation, user)
    invitation.refresh_from_db()
    assert invitation.places_taken == 0


def test_a_closed_invitation_lets_nobody_in_and_says_which_way_it_is_closed(project: Project):
    used_up = make_invitation(project, now=NOW)
    accept(used_up, make_user())
    revoked = make_invitation(project, now=NOW)
    revoke_invitation(invitation=revoked, by=project.created_by, now=NOW)
    expired = make_invitation(project, now=NOW, expires_at=NOW)
    for invitation, state in ((used_up, "used-up"), (revoked, "revoked"), (expired, "expired")):
        late = make_user()
        with pytest.raises(InvitationClosedError) as refusal:
            accept(invitation, late)
        assert refusal.value.state == state
        assert not Membership.objects.filter(user=late).exists()


def test_a_second_revocation_keeps_the_time_of_the_first(project: Project):
    invitation = make_invitation(project, now=NOW)
    revoke_invitation(invitation=invitation, by=project.created_by, now=NOW)
    revoke_invitation(invitation=invitation, by=project.created_by, now=LATER)
    invitation.refresh_from_db()
    assert invitation.revoked_at == NOW


def test_the_same_two_roles_in_two_projects_are_fine(project: Project):
    user = make_user()
    add_member(project=project, user=user, role=Role.ANNOTATOR)
    add_member(project=make_project(), user=user, role=Role.MANAGER)
    with pytest.raises(RoleConflictError):
        add_member(project=project, user=user, role=Role.RESEARCHER)


def test_joining_makes_the_account_and_takes_the_place_or_does_neither(project: Project):
    invitation = make_invitation(project, now=NOW)
    about: dict[str, Any] = {
        "token": invitation.token,
        "levels": {},
        "reads_english": True,
        "consent_version": 1,
        "now": NOW,
    }
    join(username="Ann", email="Ann@Example.org", password="x", **about)
    assert EmailAddress.objects.get(user__username="Ann").email == "ann@example.org"
    with pytest.raises(InvitationClosedError):
        join(username="bob", email="", password="x", **about)
    assert not User.objects.filter(username="bob").exists()


def test_joining_under_a_name_that_is_taken_is_refused_in_words(project: Project):
    make_user("ann")
    about: dict[str, Any] = {"levels": {}, "reads_english": True, "consent_version": 1, "now": NOW, "password": "x"}
    with pytest.raises(UserNameTakenError, match="sign in"):
        join(token=make_invitation(project, now=NOW).token, username="ANN", email="", **about)


def test_a_text_that_did_not_change_is_no_new_version(project: Project):
    assert publish_consent_text(project=project, body="New.", by=project.created_by, now=NOW).version == 2
    assert publish_consent_text(project=project, body="New.", by=project.created_by, now=NOW).version == 2


def test_consent_can_be_withdrawn_and_given_again_and_all_of_it_stays_on_record(project: Project):
    user = make_user()
    give_consent(project=project, user=user, version=1, now=NOW)
    give_consent(project=project, user=user, version=1, now=NOW)
    assert withdraw_consent(project=project, user=user, keeps_answers=True, now=LATER) == WithdrawalOutcome(True, 0)
    give_consent(project=project, user=user, version=1, now=LATER)
    assert [consent.withdrawn_at for consent in Consent.objects.order_by("pk")] == [LATER, None]


def test_withdrawing_takes_back_every_version_of_that_project_and_of_no_other(project: Project):
    user, other = make_user(), make_project()
    give_consent(project=other, user=user, version=1, now=NOW)
    give_consent(project=project, user=user, version=1, now=NOW)
    publish_consent_text(project=project, body="New.", by=project.created_by, now=NOW)
    give_consent(project=project, user=user, version=2, now=NOW)
    assert withdraw_consent(project=project, user=user, keeps_answers=True, now=LATER) == WithdrawalOutcome(True, 0)
    assert Consent.objects.get(withdrawn_at=None).text.project == other


def test_the_last_manager_cannot_be_removed_but_one_of_two_can(project: Project):
    first = project.memberships.get()
    with pytest.raises(LastManagerError):
        remove_member(membership=first, by=project.created_by, now=NOW)
    add_member(project=project, user=make_user(), role=Role.MANAGER)
    remove_member(membership=first, by=project.created_by, now=NOW)
    assert project.memberships.count() == 1


def test_language_skills_are_changed_forgotten_and_left_alone():
    user = make_user()
    set_language_skills(
        user=user,
        levels={"de": LanguageLevel.NATIVE, "fr": LanguageLevel.FLUENT},
        reads_english=True,
        interface_language="ar",
    )
    set_language_skills(
        user=user, levels={"de": LanguageLevel.ADVANCED, "fr": None}, reads_english=False, interface_language=""
    )
    assert list(user.language_skills.values_list("language", "level")) == [("de", "advanced")]
    user.refresh_from_db()
    assert (user.reads_english, user.interface_language) == (False, "")
