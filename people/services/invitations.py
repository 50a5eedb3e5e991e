"""Making and revoking invitations, and joining a project by one. Callers check permissions."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime

from allauth.account.models import EmailAddress
from django.core.mail import send_mail
from django.db import IntegrityError, transaction
from django.db.models import F
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from languages.models import Language
from people.models import Invitation, InvitationUse, Level, Membership, Project, Role, User
from people.rules.invitations import InvitationState
from people.rules.roles import needs_consent
from people.selectors.invitations import invitation_state
from people.services import audit_log
from people.services.consent import give_consent
from people.services.language_skills import set_language_skills
from people.services.members import MembershipError, add_member, lock_person

TOKEN_BYTES = 32


class UserNameTakenError(MembershipError):
    pass


class InvitationClosedError(MembershipError):
    def __init__(self, state: InvitationState) -> None:
        super().__init__(str(state.label))
        self.state = state


def invite(
    *,
    project: Project,
    role: Role,
    languages: Collection[Language] = (),
    places: int = 1,
    email: str = "",
    note: str = "",
    expires_at: datetime,
    created_by: User,
    now: datetime,
) -> Invitation:
    with transaction.atomic():
        invitation = Invitation.objects.create(
            project=project,
            token=secrets.token_urlsafe(TOKEN_BYTES),
            role=role,
            places=places,
            email=email,
            note=note,
            expires_at=expires_at,
            created_by=created_by,
        )
        invitation.languages.set(languages)
        tags = sorted(language.tag for language in languages)
        details = {"invitation": invitation.pk, "places": places, "languages": tags}
        audit_log.record(project=project, action="invitation.made", about=role, by=created_by, now=now, details=details)
    return invitation


def send_invitation(*, invitation: Invitation, url: str) -> bool:
    """Mail the link `url` to the invitation's address; return whether the mail server accepted it."""
    context = {"invitation": invitation, "project": invitation.project, "url": url}
    # A line break in a name would begin another header, which Django refuses with an error.
    subject = _("Invitation to %(project)s") % {"project": " ".join(invitation.project.name.split())}
    try:
        send_mail(subject, render_to_string("people/email/invitation.txt", context), None, [invitation.email])
    except OSError:  # SMTPException is one
        return False
    return True


def revoke_invitation(*, invitation: Invitation, by: User, now: datetime) -> None:
    """Close an invitation for good; people who joined by it stay. Repeating it changes nothing."""
    with transaction.atomic():
        if Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=now):
            audit_log.record(
                project=invitation.project,
                action="invitation.revoked",
                about=invitation.role,
                by=by,
                now=now,
                details={"invitation": invitation.pk},
            )


def accept_invitation(
    *,
    token: str,
    user: User,
    levels: Mapping[str, Level | None],
    reads_english: bool,
    consent_version: int | None,
    now: datetime,
) -> Membership:
    """Accept an invitation: give `user` the role, record their languages, and consent to the version they read.

    Somebody who accepts it twice, or has the role already, uses no further place.

    Raises
    ------
    Invitation.DoesNotExist
        If there is none with this token.
    InvitationClosedError
        If it is used up, expired or revoked.
    RoleConflictError
        If the role does not go with one that `user` has in the project.
    StaleConsentError
        If another version of the consent text is the newest by now.
    """
    with transaction.atomic():
        lock_person(user)
        # The second of two waits here and then sees how many places are left.
        invitation = Invitation.objects.select_for_update(of=("self",), no_key=True).get(token=token)
        project_id = invitation.project_id
        roles = set(Membership.objects.filter(project=project_id, user=user).values_list("role", flat=True))
        is_known = invitation.role in roles or invitation.uses.filter(user=user).exists()
        if not is_known:
            _take_place(invitation, user, now)
        membership = add_member(project=invitation.project, user=user, role=Role(invitation.role))
        # Players come by the hundred, through an invitation open to all, and give themselves the role.
        if invitation.role not in {*roles, Role.PLAYER}:
            audit_log.record(
                project=invitation.project,
                action="role.given",
                about=invitation.role,
                by=invitation.created_by,
                person=user,
                now=now,
                details={"invitation": invitation.pk},
            )
        set_language_skills(
            user=user, levels=levels, reads_english=reads_english, interface_language=user.interface_language
        )
        if needs_consent(invitation.role):
            give_consent(project=invitation.project, user=user, version=consent_version, now=now)
    return membership


def _take_place(invitation: Invitation, user: User, now: datetime) -> None:
    state = invitation_state(invitation, now)
    if state is not InvitationState.OPEN:
        raise InvitationClosedError(state)
    Invitation.objects.filter(pk=invitation.pk).update(places_taken=F("places_taken") + 1)
    InvitationUse.objects.create(invitation=invitation, user=user)


def join(
    *,
    token: str,
    username: str,
    email: str,
    password: str,
    levels: Mapping[str, Level | None],
    reads_english: bool,
    consent_version: int | None,
    interface_language: str = "",
    now: datetime,
) -> User:
    """Make an account and accept an invitation with it, or neither. `email` is theirs once they have confirmed it.

    It does not check whether another account has the address: nobody may find that out here.

    Raises
    ------
    UserNameTakenError
    InvitationClosedError, StaleConsentError, Invitation.DoesNotExist
        As `accept_invitation`.
    """
    user = User(username=username, interface_language=interface_language)
    user.set_password(password)  # slow on purpose, so before the transaction, which on SQLite blocks all writers
    with transaction.atomic():
        try:
            with transaction.atomic():
                user.save()
        except IntegrityError as error:
            text = _("This user name is taken. Choose another, or sign in if it is yours.")
            raise UserNameTakenError(text) from error
        if email:
            EmailAddress.objects.create(user=user, email=User.objects.normalize_email(email))
        accept_invitation(
            token=token, user=user, levels=levels, reads_english=reads_english, consent_version=consent_version, now=now
        )
    return user
