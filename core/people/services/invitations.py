"""Making, mailing and changing invitations, also many at once, and joining a project by one.

Callers check permissions. If an e-mail could not be sent, a manager decides.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.db.models import F
from django.urls import reverse
from django.utils.functional import lazy
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from core.languages.models import Language
from core.languages.rules.cldr import date_text
from core.people.models import (
    Invitation,
    InvitationMail,
    InvitationUse,
    LanguageLevel,
    Membership,
    PersonalLink,
    Project,
    Role,
    TextKind,
    User,
)
from core.people.rules.invitations import CLOSED, InvitationAction, InvitationState
from core.people.rules.roles import needs_consent
from core.people.selectors.invitations import InvitationChoice, choices_of, invitation_state, spoken_in
from core.people.services import audit_log
from core.people.services.accounts import set_language_skills
from core.people.services.consent import give_consent
from core.people.services.email_texts import write_email
from core.people.services.mails import MailOutbox
from core.people.services.members import MembershipError, add_member, lock_person
from core.people.services.texts import check_gaps

TOKEN_BYTES = 32


class UserNameTakenError(MembershipError):
    pass


class PersonalLinkError(MembershipError):
    """Somebody whose account is a personal link would see what only accounts with a password may see."""


class InvitationClosedError(MembershipError):
    def __init__(self, state: InvitationState) -> None:
        super().__init__(str(state.label))
        self.state = state


@dataclass(frozen=True)
class InvitationMailing:
    """Who asks for e-mails, from where their links begin, and the language of the page."""

    by: User
    site: str
    language: str = ""


def queue_mails(
    *, invitations: Sequence[Invitation], mailing: InvitationMailing, is_reminder: bool = False, now: datetime
) -> int:
    """Queue an e-mail for each of `invitations`; call it within the transaction that locks them. Return how many."""
    spoken = spoken_in(invitations)
    mails = InvitationMail.objects.bulk_create(
        InvitationMail(
            invitation=invitation,
            is_reminder=is_reminder,
            site=mailing.site,
            language=spoken.get(invitation.pk, mailing.language),
            due_at=now,
            asked_at=now,
            asked_by=mailing.by,
        )
        for invitation in invitations
    )
    return len(mails)


def _message(mail: InvitationMail, now: datetime) -> EmailMessage | str:
    invitation = Invitation.objects.select_related("project", "created_by").get(pk=mail.invitation_id)
    if not invitation.email or invitation_state(invitation, now) is not InvitationState.OPEN:
        return CLOSED
    language = mail.language or settings.LANGUAGE_CODE
    values = {
        "PROJECT": invitation.project.name,
        "INVITER": invitation.created_by.username,
        "LINK": urljoin(mail.site, reverse("people:invitation-accept", args=[invitation.token])),
        "DATE": lazy(lambda: date_text(invitation.expires_at, get_language() or ""), str)(),
    }
    kind = TextKind.REMINDER if mail.is_reminder else TextKind.INVITATION
    with override(language):
        written = write_email(project=invitation.project, kind=kind, values=values, now=now)
    written.note_on(mail)
    return EmailMessage(written.subject, written.body, None, [invitation.email])


INVITATIONS = MailOutbox(InvitationMail, _message)


@dataclass(frozen=True)
class NewInvitation:
    role: Role
    languages: Collection[Language] = ()
    places: int = 1
    email: str = ""
    note: str = ""


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
    wanted = NewInvitation(role=role, languages=languages, places=places, email=email, note=note)
    return invite_many(project=project, wanted=[wanted], expires_at=expires_at, created_by=created_by, now=now)[0]


def invite_many(
    *,
    project: Project,
    wanted: Sequence[NewInvitation],
    expires_at: datetime,
    created_by: User,
    mailing: InvitationMailing | None = None,
    now: datetime,
) -> list[Invitation]:
    """Make several invitations, all or none. With `mailing`, those with an address are queued to be sent there.

    Raises ConsentGapsError.
    """
    if any(needs_consent(each.role) for each in wanted):
        check_gaps(project)
    with transaction.atomic():
        invitations = Invitation.objects.bulk_create(
            Invitation(
                project=project,
                token=secrets.token_urlsafe(TOKEN_BYTES),
                role=each.role,
                places=each.places,
                email=each.email,
                note=each.note,
                expires_at=expires_at,
                created_by=created_by,
            )
            for each in wanted
        )
        Invitation.languages.through.objects.bulk_create(
            Invitation.languages.through(invitation=invitation, language=language)
            for invitation, each in zip(invitations, wanted, strict=True)
            for language in each.languages
        )
        if mailing is not None:
            queue_mails(invitations=[one for one in invitations if one.email], mailing=mailing, now=now)
        if invitations:
            _log(project, invitations, wanted, created_by, now)
    return invitations


def _log(
    project: Project, made: Sequence[Invitation], wanted: Sequence[NewInvitation], by: User, now: datetime
) -> None:
    details: dict[str, Any] = {
        "places": sum(each.places for each in wanted),
        "languages": sorted({language.tag for each in wanted for language in each.languages}),
    }
    roles = ", ".join(sorted({each.role.value for each in wanted}))
    if len(made) == 1:
        action, details = "invitation.made", {"invitation": made[0].pk, **details}
    else:
        action, details = "invitations.made", {"invitations": len(made), **details}
    audit_log.record(project=project, action=action, about=roles, by=by, now=now, details=details)


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
    levels: Mapping[str, LanguageLevel | None],
    reads_english: bool,
    consent_version: int | None,
    now: datetime,
) -> Membership:
    """Accept an invitation: give `user` the role, record their languages, and consent to the version they read.

    Somebody who accepts it twice, or has the role already, uses no further place.

    Raises Invitation.DoesNotExist if there is none with this token. Raises InvitationClosedError if it is used up,
    expired or revoked. Raises RoleConflictError if the role does not go with one that `user` has in the project. Raises
    StaleConsentError if another version of the consent text is the newest by now.
    """
    with transaction.atomic():
        lock_person(user)
        # The second of two waits here and then sees how many places are left.
        invitation = Invitation.objects.select_for_update(of=("self",), no_key=True).get(token=token)
        if not needs_consent(invitation.role) and PersonalLink.objects.filter(user=user).exists():
            raise PersonalLinkError(_("Choose a password in your profile first. This role needs one."))
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
            invited = [invitation.role]
            give_consent(project=invitation.project, user=user, version=consent_version, roles=invited, now=now)
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
    levels: Mapping[str, LanguageLevel | None],
    reads_english: bool,
    consent_version: int | None,
    interface_language: str = "",
    now: datetime,
) -> User:
    """Make an account and accept an invitation with it, or neither. `email` is theirs once they have confirmed it.

    Without a `username` they get one, and no password: make_link then gives them their personal link.

    It does not check whether another account has the address: nobody may find that out here.

    Raises UserNameTakenError. Raises InvitationClosedError, StaleConsentError or Invitation.DoesNotExist as
    `accept_invitation`.
    """
    user = User(username=username or f"guest-{secrets.token_hex(6)}", interface_language=interface_language)
    # Slow on purpose, so before the transaction, which on SQLite blocks all writers.
    user.set_password(password if username else None)
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


@dataclass(frozen=True)
class ChangedInvitations:
    """What happened: how many were changed, how many e-mails queued, and what was left out, with its reason."""

    done: int
    mails: int
    left_out: Sequence[InvitationChoice]


def change_many(
    *,
    project: Project,
    invitations: Collection[int],
    action: InvitationAction,
    valid_for: timedelta = timedelta(0),
    sends: bool = False,
    mailing: InvitationMailing,
    now: datetime,
) -> ChangedInvitations:
    """Send again, extend or revoke each of `invitations` for which it is possible.

    - `valid_for`: from now, if they are extended. The links stay the same.
    - `sends`: whether those that are extended are sent again too, where that is possible.
    """
    with transaction.atomic():
        # Two managers who do the same at once take turns; the second sees what the first did.
        rows = project.invitations.filter(pk__in=invitations).order_by("pk").select_for_update(no_key=True)
        choices = choices_of(list(rows), action, now=now)
        chosen = [choice for choice in choices if choice.reason is None]
        possible = Invitation.objects.filter(pk__in=[choice.invitation.pk for choice in chosen])
        mails = 0
        if action is InvitationAction.EXTEND:
            possible.update(expires_at=now + valid_for)
            to_send = [choice.invitation for choice in chosen if choice.can_be_sent] if sends else []
            mails = queue_mails(invitations=to_send, mailing=mailing, is_reminder=True, now=now)
        elif action is InvitationAction.REVOKE:
            possible.update(revoked_at=now)
        else:
            mails = _remind(chosen, mailing, now)
        if chosen:
            _log_change(project, action, chosen, mailing.by, now)
    return ChangedInvitations(len(chosen), mails, [choice for choice in choices if choice.reason is not None])


def _remind(chosen: Sequence[InvitationChoice], mailing: InvitationMailing, now: datetime) -> int:
    """Queue the e-mails. One that never arrived is not called a reminder when it is sent again."""
    mails = 0
    for is_reminder in (True, False):
        those = [choice.invitation for choice in chosen if choice.was_sent == is_reminder]
        mails += queue_mails(invitations=those, mailing=mailing, is_reminder=is_reminder, now=now)
    return mails


PAST = {
    InvitationAction.REMIND: "sent-again",
    InvitationAction.EXTEND: "extended",
    InvitationAction.REVOKE: "revoked",
}


def _log_change(
    project: Project, action: InvitationAction, chosen: Sequence[InvitationChoice], by: User, now: datetime
) -> None:
    roles = ", ".join(sorted({choice.invitation.role for choice in chosen}))
    if len(chosen) == 1:
        code, details = f"invitation.{PAST[action]}", {"invitation": chosen[0].invitation.pk}
    else:
        code, details = f"invitations.{PAST[action]}", {"invitations": len(chosen)}
    audit_log.record(project=project, action=code, about=roles, by=by, now=now, details=details)
