"""The invitations of a project, and what a step would do to several of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, TextChoices, prefetch_related_objects
from django.utils.translation import gettext_lazy

from core.languages.models import Language
from core.languages.rules.page_languages import tag_of
from core.people.models import UNFINISHED_MAILS, Invitation, InvitationMail, MailState, Project, Role
from core.people.rules import invitations
from core.people.rules.invitations import InvitationAction, InvitationState, why_no_mail, why_not

MAX_NAMED = 50
"""How many people per invitation are listed."""


class InvitationsShown(TextChoices):
    """Which invitations to list."""

    OPEN = "open", gettext_lazy("Open, with free places")
    JOINED = "joined", gettext_lazy("Somebody joined")
    QUEUED = "queued", gettext_lazy("E-mail waiting to be sent")
    NOT_SENT = "not-sent", gettext_lazy("E-mail not sent")
    EXPIRED = "expired", gettext_lazy("Expired, with free places")
    REVOKED = "revoked", gettext_lazy("Revoked")


@dataclass(frozen=True)
class InvitationFilters:
    """Filters of invitations; empty ones select all. `first` and `last` are keys of those made together."""

    words: str = ""
    shown: str = ""
    role: str = ""
    language: Language | None = None
    first: int | None = None
    last: int | None = None


def invitation_state(invitation: Invitation, now: datetime) -> InvitationState:
    return invitations.invitation_state(
        places=invitation.places,
        places_taken=invitation.places_taken,
        expires_at=invitation.expires_at,
        revoked_at=invitation.revoked_at,
        is_archived=invitation.project.is_archived,
        now=now,
    )


@dataclass(frozen=True)
class InvitationRow:
    """`mail` is the last e-mail, and `sent` how many were sent."""

    invitation: Invitation
    role: str
    languages: list[str]
    state: InvitationState
    used_by: list[str]
    mail: InvitationMail | None
    sent: int

    @property
    def is_open(self) -> bool:
        return self.state is InvitationState.OPEN

    @property
    def can_change(self) -> bool:
        return self.state in (InvitationState.OPEN, InvitationState.EXPIRED)


def invitations_of(project: Project, wanted: InvitationFilters, *, now: datetime) -> QuerySet[Invitation]:
    """Select invitations into `project`, the latest first."""
    found = project.invitations.order_by("-created_at", "-pk")
    if wanted.words:
        found = found.filter(Q(email__icontains=wanted.words) | Q(note__icontains=wanted.words))
    if wanted.role:
        found = found.filter(role=wanted.role)
    if wanted.language is not None:
        found = found.filter(languages=wanted.language)
    if wanted.first is not None and wanted.last is not None:
        found = found.filter(pk__range=(wanted.first, wanted.last))
    return _in_state(found, wanted.shown, now)


def _in_state(found: QuerySet[Invitation], shown: str, now: datetime) -> QuerySet[Invitation]:
    is_free = Q(revoked_at=None, places_taken__lt=F("places"))
    mails = InvitationMail.objects.filter(invitation=OuterRef("pk"))
    match shown:
        case InvitationsShown.OPEN:
            return found.filter(is_free, expires_at__gt=now)
        case InvitationsShown.EXPIRED:
            return found.filter(is_free, expires_at__lte=now)
        case InvitationsShown.REVOKED:
            return found.filter(revoked_at__isnull=False)
        case InvitationsShown.JOINED:
            return found.filter(places_taken__gt=0)
        case InvitationsShown.QUEUED:
            return found.filter(Exists(mails.filter(state__in=UNFINISHED_MAILS)))
        case InvitationsShown.NOT_SENT:
            last = Subquery(mails.order_by("-pk").values("state")[:1])
            return found.annotate(last=last).filter(is_free, last=MailState.FAILED)
    return found


def rows_of(listed: Sequence[Invitation], *, now: datetime) -> list[InvitationRow]:
    """Describe invitations in a fixed number of queries, naming only some people of one that is open to everybody."""
    prefetch_related_objects(listed, "languages", "mails", "project")
    prefetch_related_objects([each for each in listed if each.places_taken <= MAX_NAMED], "uses__user")
    return [_row(invitation, now) for invitation in listed]


def _row(invitation: Invitation, now: datetime) -> InvitationRow:
    mails = sorted(invitation.mails.all(), key=lambda mail: mail.pk)
    return InvitationRow(
        invitation=invitation,
        role=str(Role(invitation.role).label),
        languages=[language.name for language in invitation.languages.all()],
        state=invitation_state(invitation, now),
        used_by=_names(invitation),
        mail=mails[-1] if mails else None,
        sent=sum(mail.state == MailState.SENT for mail in mails),
    )


def _names(invitation: Invitation) -> list[str]:
    if invitation.places_taken <= MAX_NAMED:
        return [use.user.username for use in invitation.uses.all()]
    latest = invitation.uses.order_by("-pk").values_list("user__username", flat=True)[:MAX_NAMED]
    return [*latest, "…"]


def addresses_invited(project: Project, *, now: datetime) -> set[tuple[str, str]]:
    """Return the addresses, in lower case, that have an open invitation, each with its role."""
    listed = invitations_of(project, InvitationFilters(shown=InvitationsShown.OPEN), now=now).exclude(email="")
    return {(email.lower(), role) for email, role in listed.values_list("email", "role")}


@dataclass(frozen=True)
class InvitationChoice:
    """One invitation, and why it is left out; None if it is not.

    `can_be_sent` says whether an e-mail is possible now, apart from its state, and `was_sent` whether one ever arrived.
    """

    invitation: Invitation
    reason: str | None
    can_be_sent: bool
    was_sent: bool


def choices_of(invitations: Sequence[Invitation], action: InvitationAction, *, now: datetime) -> list[InvitationChoice]:
    mailing: set[int] = set()
    mailed_at: dict[int, datetime | None] = {}
    mails = InvitationMail.objects.filter(invitation__in=invitations).order_by("pk")
    for pk, state, sent_at in mails.values_list("invitation", "state", "sent_at"):
        if state in UNFINISHED_MAILS:
            mailing.add(pk)
        elif state == MailState.SENT:
            mailed_at[pk] = sent_at
    choices = []
    for invitation in invitations:
        no_mail = why_no_mail(
            address=invitation.email,
            mailing=invitation.pk in mailing,
            mailed_at=mailed_at.get(invitation.pk),
            now=now,
        )
        reason = why_not(action, state=invitation_state(invitation, now), no_mail=no_mail)
        choices.append(InvitationChoice(invitation, reason, no_mail is None, invitation.pk in mailed_at))
    return choices


def spoken_in(invitations: Sequence[Invitation]) -> dict[int, str]:
    """Return the language of each invitation for one language, as Django calls it, if the pages are in it."""
    through = Invitation.languages.through.objects.filter(invitation__in=invitations)
    tags: dict[int, list[str]] = {}
    for invitation, tag in through.values_list("invitation", "language"):
        tags.setdefault(invitation, []).append(tag)
    codes = {tag_of(code): code for code, _name in settings.LANGUAGES}
    return {invitation: codes[known[0]] for invitation, known in tags.items() if len(known) == 1 and known[0] in codes}
