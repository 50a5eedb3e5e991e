"""E-mails with the links of invitations. If one could not be sent, a manager decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urljoin

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext_noop, override

from core.languages.rules.page_languages import tag_of
from core.people.models import Invitation, InvitationMail, User
from core.people.rules.invitations import InvitationState
from core.people.selectors.invitations import invitation_state
from core.people.services.outbox import MailOutbox

CLOSED = gettext_noop("The invitation was closed before.")


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
    spoken = _spoken(invitations)
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


def _spoken(invitations: Sequence[Invitation]) -> dict[int, str]:
    """Return the language of each invitation for one language, if the pages are in it."""
    through = Invitation.languages.through.objects.filter(invitation__in=invitations)
    tags: dict[int, list[str]] = {}
    for invitation, tag in through.values_list("invitation", "language"):
        tags.setdefault(invitation, []).append(tag)
    codes = {tag_of(code): code for code, _name in settings.LANGUAGES}
    return {invitation: codes[known[0]] for invitation, known in tags.items() if len(known) == 1 and known[0] in codes}


def _message(mail: InvitationMail, now: datetime) -> EmailMessage | str:
    invitation = Invitation.objects.select_related("project", "created_by").get(pk=mail.invitation_id)
    if not invitation.email or invitation_state(invitation, now) is not InvitationState.OPEN:
        return CLOSED
    path = reverse("people:invitation-accept", args=[invitation.token])
    context = {
        "invitation": invitation,
        "project": invitation.project,
        "is_reminder": mail.is_reminder,
        "url": urljoin(mail.site, path),
    }
    with override(mail.language or settings.LANGUAGE_CODE):
        subject = render_to_string("people/email/invitation_subject.txt", context)
        body = render_to_string("people/email/invitation.txt", context)
    # A line break in a name would begin another header, which Django refuses with an error.
    return EmailMessage(" ".join(subject.split()), body, None, [invitation.email])


INVITATIONS = MailOutbox(InvitationMail, _message)
