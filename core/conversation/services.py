"""Report an image, which skips the item, and decide about it.

A kind of work registers how an item of it is found and skipped. The place of the task goes back in the transaction that
stores the report.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction

from core.conversation.models import HELD, ImageReport, ReportedImage, ReportedState, ReportReason
from core.conversation.permissions import KINDS, ReportableItem
from core.people.models import User
from core.people.services import audit_log
from crosslens_metrics.hidden_characters import visible_text

MIN_REPORTS_TO_PAUSE = 2
"""(ours) So many different people, since a manager last decided."""
MAX_COMMENT_CHARACTERS = 1000


def report_image(
    *, kind: str, batch_id: UUID, position: int, person: User, reason: ReportReason, comment: str, now: datetime
) -> ReportableItem:
    """Report the image of an item and skip the item. Repeating it has no further effect.

    Raises
    ------
    Http404
        `person` has no such item.
    LeaseExpiredError, BatchReturnedError
    """
    item = KINDS[kind].find(person, batch_id, position)
    with transaction.atomic():
        KINDS[kind].skip(batch_id, person, position, now)
        keep_report(
            item=item, about=f"{kind}:{batch_id}:{position}", person=person, reason=reason, comment=comment, now=now
        )
    return item


def keep_report(
    *, item: ReportableItem, about: str, person: User, reason: ReportReason, comment: str, now: datetime
) -> None:
    """Store a report, and pause the image once enough people have reported it. Call within a transaction."""
    reported, _made = ReportedImage.objects.get_or_create(
        project=item.project, image=item.image, defaults={"reported_at": now}
    )
    # Those who report an image at the same time take turns, so that the second one is counted with the first.
    reported = ReportedImage.objects.select_for_update(no_key=True).get(pk=reported.pk)
    text = visible_text(comment).strip()[:MAX_COMMENT_CHARACTERS]
    said = {"reported": reported, "language": item.language, "reason": reason, "comment": text, "at": now}
    _report, is_new = ImageReport.objects.get_or_create(person=person, item=about, defaults=said)
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
    """Pause a reported image, resume it, or withdraw it. Batches that have it keep it.

    Raises
    ------
    ReportedImage.DoesNotExist
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
                details={"state": str(state)},
            )
    return reported


def forget(*, person: User, now: datetime) -> None:
    """Erase what somebody wrote; that they reported an image stays."""
    ImageReport.objects.filter(person=person).exclude(comment="").update(comment="")
