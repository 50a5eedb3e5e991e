"""Managers' findings about ratings and captions, their feedback to annotators, and the acknowledgement of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Caption, Feedback, Rating, Round, SpotCheck
from annotation.permissions import readable_feedback
from annotation.rules import text_checks
from annotation.services.campaign import name_in_log
from core.conversation.models import ThreadMessage
from core.conversation.permissions import ReportableItem
from core.conversation.services import ask_managers
from core.people.models import Membership, Role, User
from core.people.services import audit_log

MAX_NOTE_CHARACTERS = 5000
"""(ours) Code points."""


class FeedbackError(Exception):
    """Feedback is not allowed, or not to this person; the message says why and what to do."""


def give_feedback(
    *, round: Round, person: User, text: str, by: User, now: datetime, caption: Caption | None = None
) -> Feedback:
    """Send `person` feedback on a caption of theirs, or on their work in `round` in general.

    They acknowledge it before they get another batch of the project.

    Raises FeedbackError.
    """
    text = clean_note(text)
    with transaction.atomic():
        if caption is not None and (caption.author_id, caption.round_id) != (person.pk, round.pk):
            raise FeedbackError(_("This person did not write this caption in this round. Reload the page."))
        if not Membership.objects.filter(project=round.project_id, user=person, role=Role.ANNOTATOR).exists():
            raise FeedbackError(_("This person is no longer an annotator of the project and would not see it."))
        made = Feedback.objects.create(
            project_id=round.project_id, round=round, person=person, caption=caption, text=text, by=by, at=now
        )
        about = {"caption": caption.pk if caption else None, "feedback": made.pk}
        record(round, "feedback.given", person=person, by=by, now=now, **about)
    return made


def send_feedback(*, round: Round, people: Sequence[User], text: str, by: User, now: datetime) -> None:
    """Send `people`, annotators of the project, the same feedback on their work in `round` in general."""
    with transaction.atomic():
        made = Feedback.objects.bulk_create(
            Feedback(project_id=round.project_id, round=round, person=person, text=text, by=by, at=now)
            for person in people
        )
        audit_log.record_each(
            project=round.project,
            action="feedback.given",
            about=name_in_log(round),
            by=by,
            now=now,
            each=[(one.person, {"caption": None, "feedback": one.pk}) for one in made],
        )


def acknowledge(*, feedback_id: int, person: User, now: datetime) -> Feedback:
    """Record that `person` has read it. Repeating it keeps the first time.

    Raises Feedback.DoesNotExist also while it is hidden as its image is assigned to them.
    """
    with transaction.atomic():
        message = readable_feedback(person).select_for_update(no_key=True, of=("self",)).get(pk=feedback_id)
        if message.acknowledged_at is None:
            message.acknowledged_at = now
            message.save(update_fields=["acknowledged_at"])
    return message


def reply_to_feedback(*, feedback: Feedback, text: str, now: datetime) -> ThreadMessage:
    """Write to the managers as its reader, with the feedback above it.

    Raises MessageRefusedError.
    """
    caption, round = feedback.caption, feedback.round
    item = ReportableItem(feedback.project, round.language, caption.image, "", is_on_screen_1=True) if caption else None
    about: dict[str, Any] = {"project": feedback.project, "person": feedback.person, "quote": feedback.text}
    return ask_managers(**about, text=text, item=item, now=now)


def clean_note(text: str) -> str:
    """Return `text` as it is stored.

    Raises FeedbackError.
    """
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise FeedbackError(_("Write your feedback first."))
    if len(text) > MAX_NOTE_CHARACTERS:
        raise FeedbackError(_("This is too long: you can write at most 5,000 characters."))
    problem = text_checks.unstorable(text)
    if problem:
        raise FeedbackError(str(problem.message))
    return text


def record(round: Round, action: str, *, person: User | None, by: User, now: datetime, **details: object) -> None:
    """Record in the audit log what a manager did about somebody's work in `round`."""
    about = name_in_log(round)
    audit_log.record(
        project=round.project, action=action, about=about, by=by, now=now, person=person, details=dict(details)
    )


def check_rating(*, caption_id: int, is_right: bool | None, by: User, now: datetime) -> SpotCheck:
    """Record whether the author rated the English caption correctly; None deletes the answer."""
    return _keep(caption_id, by, now, is_rating_right=is_right)


def check_level(*, caption_id: int, level: Rating | None, by: User, now: datetime) -> SpotCheck:
    """Record a level for the caption; None deletes it."""
    return _keep(caption_id, by, now, level=level or "")


def _keep(caption_id: int, by: User, now: datetime, **said: bool | str | None) -> SpotCheck:
    with transaction.atomic():
        # Two tabs of one manager lock the caption, as there may be no check to lock yet.
        captions = Caption.objects.select_for_update(no_key=True, of=("self",))
        caption = captions.select_related("round__project", "author").get(pk=caption_id)
        check = SpotCheck.objects.filter(caption=caption, by=by).first() or SpotCheck(caption=caption, by=by)
        for name, value in (said | {"at": now}).items():
            setattr(check, name, value)
        if check.is_rating_right is not None or check.level:
            check.save()
        elif check.pk:
            check.delete()
        about = {"caption": caption.pk, "rating_right": check.is_rating_right, "level": check.level or None}
        record(caption.round, "caption.checked", person=caption.author, by=by, now=now, **about)
    return check
