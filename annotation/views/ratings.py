"""The pages of the two kinds of work, captions to write and captions to rate, and ratings as they are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Rating
from core.allocation.refusals import AllocationRefusal, RefusedError
from core.allocation.views import WorkAddresses, active_ms_of
from core.people.requests import user_of

CAPTIONS = WorkAddresses(work="annotation:work-show", batch="annotation:batch-show")
RATINGS = WorkAddresses(work="annotation:work-show", batch="annotation:verification-show")


def ratings_sent(request: HttpRequest, positions: Iterable[int]) -> dict[int, Rating]:
    """Read the ratings of a form, by position; anything else is ignored."""
    sent = {position: request.POST.get(f"rating-{position}", "") for position in positions}
    return {position: Rating(value) for position, value in sent.items() if value in Rating.values}


def save_rating(request: HttpRequest, save: Callable[..., object], batch_id: UUID, position: int) -> HttpResponse:
    """Save the one rating that a script sends, by a service; an empty one was undone.

    Raises
    ------
    core.allocation.refusals.RefusedError
    """
    rating = request.POST.get("rating", "none")
    if rating and rating not in Rating.values:
        said = _("%(rating)s is not a level. Choose one of %(levels)s.")
        levels = ", ".join(Rating.values)
        raise RefusedError(AllocationRefusal(422, "unknown-rating", said % {"rating": rating, "levels": levels}))
    about = {"batch_id": batch_id, "person": user_of(request), "position": position, "now": timezone.now()}
    save(rating=Rating(rating) if rating else None, active_ms=active_ms_of(request), **about)
    return JsonResponse({"state": "saved"})
