"""What managers record when they check ratings and captions."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.models import Caption, Rating, SpotCheck
from annotation.services.feedback import record
from core.people.models import User


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
