"""Many people follow one link at once."""

from __future__ import annotations

import threading

import pytest

from core.people.models import Invitation, InvitationUse, Membership, Project, Role, User
from core.people.services.consent import publish_consent_text
from core.people.services.invitations import InvitationClosedError, accept_invitation, invite
from core.people.services.members import LastManagerError, RoleConflictError, add_member, remove_member
from tests.concurrency import together
from tests.factories import NOW, make_project, make_user
from tests.people.test_services import LATER

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]
RIVALS, PLACES = 12, 3


def make_invitation(project: Project, places: int = PLACES) -> Invitation:
    return invite(
        project=project, role=Role.PLAYER, places=places, expires_at=LATER, created_by=project.created_by, now=NOW
    )


def come_in(invitation: Invitation, user: User) -> bool:
    try:
        accept_invitation(token=invitation.token, user=user, levels={}, reads_english=False, consent_version=1, now=NOW)
    except InvitationClosedError:
        return False
    return True


def come_in_without_a_lock(invitation: Invitation, user: User, seen: threading.Barrier) -> bool:
    """As it would be done by somebody who looks first and takes then."""
    taken = InvitationUse.objects.filter(invitation=invitation).count()
    seen.wait(60)
    if taken >= invitation.places:
        return False
    InvitationUse.objects.create(invitation=invitation, user=user)
    return True


def test_rivals_for_the_last_places_do_not_oversell_them():
    invitation = make_invitation(make_project())
    rivals = [make_user() for _ in range(RIVALS)]
    came_in = together(lambda user: come_in(invitation, user), rivals)
    invitation.refresh_from_db()
    assert came_in.count(True) == PLACES == invitation.places_taken == invitation.uses.count()
    assert Membership.objects.filter(role=Role.PLAYER).count() == PLACES


def test_control_without_the_lock_the_places_are_oversold():
    invitation = make_invitation(make_project())
    rivals = [make_user() for _ in range(RIVALS)]
    seen = threading.Barrier(RIVALS)
    came_in = together(lambda user: come_in_without_a_lock(invitation, user, seen), rivals)
    assert came_in.count(True) == RIVALS > PLACES


def test_one_person_in_many_tabs_takes_one_place():
    invitation, user = make_invitation(make_project()), make_user()
    assert all(together(lambda tab: come_in(invitation, user), range(6)))
    invitation.refresh_from_db()
    assert invitation.places_taken == invitation.uses.count() == 1


def test_two_roles_that_conflict_are_not_both_given_at_the_same_moment():
    project, user = make_project(), make_user()

    def give(role: Role) -> bool:
        try:
            add_member(project=project, user=user, role=role)
        except RoleConflictError:
            return False
        return True

    assert sorted(together(give, [Role.RESEARCHER, Role.ANNOTATOR])) == [False, True]


def test_two_managers_who_remove_each_other_leave_one():
    project = make_project()
    add_member(project=project, user=make_user(), role=Role.MANAGER)

    def remove(membership: Membership) -> bool:
        try:
            remove_member(membership=membership, by=project.created_by, now=NOW)
        except LastManagerError:
            return False
        return True

    assert sorted(together(remove, list(project.memberships.all()))) == [False, True]
    assert project.memberships.filter(role=Role.MANAGER).count() == 1


def test_two_new_versions_at_once_get_numbers_of_their_own():
    project = make_project()
    texts = together(
        lambda body: publish_consent_text(project=project, body=body, by=project.created_by, now=NOW), ["One.", "Two."]
    )
    assert sorted(text.version for text in texts) == [2, 3]
