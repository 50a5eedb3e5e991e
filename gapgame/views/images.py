"""The images of a turn, at addresses that reveal nothing and work only once their hint is due."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from core.images.services.file_storage import read_size
from core.people.requests import user_of
from gapgame.permissions import turn_shown_to
from gapgame.selectors.play import image_at, served_size

RETRY_AFTER_S = 5


@require_safe
def image_show(request: HttpRequest, turn_id: UUID, signature: str) -> HttpResponse:
    """Serve an image of the user's own turn; unknown or expired addresses give 404."""
    image = image_at(turn_shown_to(user_of(request), turn_id), signature, timezone.now())
    if image is None:
        raise Http404
    content = read_size(image.public_id, served_size(image))
    if content is None:
        return HttpResponse(status=503, headers={"Retry-After": str(RETRY_AFTER_S)})
    response = HttpResponse(content, content_type="image/webp")
    response["Cache-Control"] = "private, max-age=3600, immutable"
    response["X-Content-Type-Options"] = "nosniff"
    return response
