"""What managers record when they check ratings and captions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from annotation.models import Caption, Rating, SpotCheck
from annotation.services.feedback import record
from core.people.models import User


@dataclass(frozen=True)
class CheckFinding:
    """One manager's opinion of a caption: whether its author rated the English one correctly, and its level."""

    is_rating_right: bool | None = None
    level: Rating | None = None


def check_rating(*, caption_id: int, is_right: bool | None, by: User, now: datetime) -> CheckFinding:
    """Record whether the author rated the English caption correctly; None deletes the answer."""
    with transaction.atomic():
        caption, check = _locked(caption_id, by)
        return _keep(caption, CheckFinding(is_right, check.level), by, now)


def check_level(*, caption_id: int, level: Rating | None, by: User, now: datetime) -> CheckFinding:
    """Record a level for the caption; None deletes it."""
    with transaction.atomic():
        caption, check = _locked(caption_id, by)
        return _keep(caption, CheckFinding(check.is_rating_right, level), by, now)


def _locked(caption_id: int, by: User) -> tuple[Caption, CheckFinding]:
    # Two tabs of one manager lock the caption, as there may be no check to lock yet.
    caption = (
        Caption.objects.select_for_update(no_key=True, of=("self",))
        .select_related("round__project", "author")
        .get(pk=caption_id)
    )
    check = SpotCheck.objects.filter(caption=caption, by=by).first()
    return caption, CheckFinding(
        check.is_rating_right, Rating(check.level) if check.level else None
    ) if check else CheckFinding()


def _keep(caption: Caption, finding: CheckFinding, by: User, now: datetime) -> CheckFinding:
    checks = SpotCheck.objects.filter(caption=caption, by=by)
    if finding == CheckFinding():
        checks.delete()
    else:
        said = {"is_rating_right": finding.is_rating_right, "level": finding.level or "", "at": now}
        SpotCheck.objects.update_or_create(caption=caption, by=by, defaults=said)
    about = {"caption": caption.pk, "rating_right": finding.is_rating_right, "level": finding.level}
    record(caption.round, "caption.checked", person=caption.author, by=by, now=now, **about)
    return finding
