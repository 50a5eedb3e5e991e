"""Report an image, which skips the item, and decide about it; ask the managers of a project, and answer.

A kind of work registers how an item of it is found and skipped. The place of the task goes back in the transaction that
stores the report.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from core.conversation.models import (
    HELD,
    ImageReport,
    ManagerThread,
    ReportedImage,
    ReportedState,
    ThreadMessage,
)
from core.conversation.permissions import KINDS, ReportableItem
from core.conversation.rules import MessageOrigin, ReportReason
from core.conversation.selectors import IS_UNREAD, why_unanswerable
from core.languages.models import Language
from core.people.models import Project, User
from core.people.services import audit_log
from crosslens_metrics.hidden_characters import visible_text

MIN_REPORTS_TO_PAUSE = 2
"""(ours) So many different people, since a manager last decided."""
MAX_COMMENT_CHARACTERS = 1000
MAX_MESSAGE_CHARACTERS = 2000
MAX_MESSAGES_A_DAY = 50


class MessageRefusedError(Exception):
    """The message says why and what to do."""


def report_image(
    *, kind: str, batch_id: UUID, position: int, person: User, reason: ReportReason, comment: str, now: datetime
) -> bool:
    """Report the image of an item and skip the item. Repeating it has no further effect.

    Return False if the item was done before, which it stays. Raises Http404. Raises ValueError: the reason makes no
    sense in this kind of work.
    """
    work = KINDS[kind]
    if reason not in work.reasons:
        raise ValueError(f"{reason} is no reason to report one of {kind}: give one of {', '.join(work.reasons)}.")
    item = work.find(person, batch_id, position)
    about: dict[str, Any] = {"item": item, "about": f"{kind}:{batch_id}:{position}", "reason": reason}
    keep = partial(keep_report, **about, person=person, comment=comment, now=now)
    with transaction.atomic():
        if work.is_locked_last:
            keep()
        is_skipped = work.skip(batch_id, person, position, now)
        if not work.is_locked_last:
            keep()
    return is_skipped


def keep_report(
    *, item: ReportableItem, about: str, person: User, reason: ReportReason, comment: str, now: datetime
) -> None:
    """Store a report, and pause the image once enough people have reported it. Call within a transaction.

    Where captions in the language of the work are judged, a report of their language pauses it in that one alone. A
    comment can be answered in the thread of its author; as a manager reads the captions of the image beside it, it is
    hidden like one of screen 1.
    """
    language = item.language if item.is_caption_judged and reason == ReportReason.LANGUAGE else None
    reported, is_first = ReportedImage.objects.get_or_create(
        project=item.project, image=item.image, language=language, defaults={"reported_at": now}
    )
    # Those who report an image at the same time take turns, so that the second one is counted with the first.
    reported = ReportedImage.objects.select_for_update(no_key=True).get(pk=reported.pk)
    text = visible_text(comment.replace("\x00", "")).strip()[:MAX_COMMENT_CHARACTERS]
    said = {"reported": reported, "language": item.language, "reason": reason, "comment": text, "at": now}
    report, is_new = ImageReport.objects.get_or_create(person=person, item=about, defaults=said)
    if not is_new and is_first:
        reported.delete()
    if is_new and text:
        about_it = {"report": report, "image": item.image, "language": item.language, "is_of_screen_1": True}
        thread = _thread_of(item.project, person, now)
        ThreadMessage.objects.create(thread=thread, by=person, text=text, at=now, **about_it)
    if not is_new or reported.state == ReportedState.WITHDRAWN:
        return
    lately = ImageReport.objects.filter(reported=reported)
    if reported.decided_at is not None:
        lately = lately.filter(at__gt=reported.decided_at)
    people = lately.order_by().values("person").distinct().count()
    is_paused = reported.state == ReportedState.PAUSED or people >= MIN_REPORTS_TO_PAUSE
    reported.state = ReportedState.PAUSED if is_paused else ReportedState.REPORTED
    reported.reported_at = now
    reported.save(update_fields=["state", "reported_at"])


def decide_image(*, reported_id: int, state: ReportedState, by: User, now: datetime) -> ReportedImage:
    """Pause a reported image, resume it, or withdraw it. People who have it already can finish it.

    Raises ReportedImage.DoesNotExist.
    """
    with transaction.atomic():
        images = ReportedImage.objects.select_for_update(no_key=True, of=("self",)).select_related("project")
        reported = images.get(pk=reported_id)
        if reported.state != state:
            reported.state, reported.decided_at, reported.decided_by = state, now, by
            reported.save(update_fields=["state", "decided_at", "decided_by"])
            audit_log.record(
                project=reported.project,
                action="image.held-back" if state in HELD else "image.given-again",
                about=str(reported.image_id),
                by=by,
                now=now,
                details={"state": str(state), "language": reported.language_id},
            )
    return reported


def ask_managers(
    *,
    project: Project,
    person: User,
    text: str,
    now: datetime,
    item: ReportableItem | None = None,
    quote: str = "",
    origin: MessageOrigin | Literal[""] = "",
    language: Language | None = None,
) -> ThreadMessage:
    """Write to the managers of a project, perhaps about an item of one's work, or in answer to feedback (`quote`).

    Notes on skipped sentences are not counted: nobody must be kept from skipping.

    Raises MessageRefusedError.
    """
    text = _clean(text)
    with transaction.atomic():
        thread = _thread_of(project, person, now)
        lately = thread.messages.filter(is_reply=False, report=None, at__gt=now - timedelta(days=1))
        lately = lately.exclude(origin=MessageOrigin.SKIPPED_SENTENCE)
        if origin != MessageOrigin.SKIPPED_SENTENCE and lately.count() >= MAX_MESSAGES_A_DAY:
            raise MessageRefusedError(_("You have written enough messages for today. Try again tomorrow."))
        thread.is_open, thread.asked_at = True, now
        thread.save(update_fields=["is_open", "asked_at"])
        about: dict[str, Any] = {"quote": quote, "origin": origin, "language": language}
        if item:
            about |= {"image": item.image, "language": item.language, "is_of_screen_1": item.is_on_screen_1}
        return ThreadMessage.objects.create(thread=thread, by=person, text=text, at=now, **about)


def _thread_of(project: Project, person: User, now: datetime) -> ManagerThread:
    """Lock what `person` and the managers wrote; nothing waits for an answer in a new thread."""
    opened = {"asked_at": now, "is_open": False}
    thread, _is_new = ManagerThread.objects.get_or_create(project=project, person=person, defaults=opened)
    return ManagerThread.objects.select_for_update(no_key=True).get(pk=thread.pk)


def answer_thread(*, thread_id: int, text: str, by: User, now: datetime, newest: int | None = None) -> ThreadMessage:
    """Reply as a manager. The question that is hidden longest says who may not read the reply now.

    The thread stays open if a question came after the `newest` that the manager saw.

    Raises MessageRefusedError or ManagerThread.DoesNotExist.
    """
    text = _clean(text)
    with transaction.atomic():
        thread = ManagerThread.objects.select_for_update(no_key=True).get(pk=thread_id)
        if reason := why_unanswerable(thread):
            raise MessageRefusedError(reason)
        asked = _answered_by_reply(thread)
        thread.is_open = newest is not None and thread.messages.filter(is_reply=False, pk__gt=newest).exists()
        thread.save(update_fields=["is_open"])
        names = ("image", "language", "is_of_screen_1", "quote")
        about = {name: getattr(asked, name) for name in names}
        return ThreadMessage.objects.create(thread=thread, by=by, is_reply=True, text=text, at=now, **about)


def _answered_by_reply(thread: ManagerThread) -> ThreadMessage:
    """Return the question that a reply is about.

    One of screen 1 comes before one about no image, that before the comment of a report, and that before others.
    """
    asked = list(thread.messages.filter(is_reply=False))
    last = thread.messages.filter(is_reply=True).last()
    waiting = [one for one in asked if last is None or (one.at, one.pk) > (last.at, last.pk)] or asked[-1:]

    def hidden(one: ThreadMessage) -> tuple[Any, ...]:
        return one.is_of_screen_1 and one.report_id is None, one.image_id is None, one.is_of_screen_1, one.pk

    return max(waiting, key=hidden)


def resolve_thread(*, thread_id: int, newest: int | None = None) -> None:
    """Close a thread that needs no answer, unless a question came after the `newest` that the manager saw."""
    threads = ManagerThread.objects.filter(pk=thread_id)
    if newest is not None:
        threads = threads.exclude(messages__is_reply=False, messages__pk__gt=newest)
    threads.update(is_open=False)


def confirm_replies(*, project: Project, person: User, replies: Collection[int], now: datetime) -> None:
    """Note that `person` has read `replies`, by their primary keys: those that they saw, and no others."""
    mine = ThreadMessage.objects.filter(IS_UNREAD, thread__project=project, thread__person=person)
    mine.filter(pk__in=replies).update(read_at=now)


def _clean(text: str) -> str:
    text = visible_text(text.replace("\r\n", "\n").replace("\x00", "")).strip()
    if not text:
        raise MessageRefusedError(_("Write your message first."))
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise MessageRefusedError(_("This is too long: you can write at most 2,000 characters."))
    return text


def forget(*, person: User, now: datetime) -> None:
    """Erase what somebody wrote and was answered; that they reported an image stays."""
    ImageReport.objects.filter(person=person).exclude(comment="").update(comment="")
    ManagerThread.objects.filter(person=person).delete()
