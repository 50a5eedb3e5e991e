"""Serve images."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from core.images import selectors
from core.images.models import Image
from core.images.services import file_storage
from core.people.api.authentication import viewer_of

RETRY_AFTER_S = 5


@require_safe
@login_not_required
def image_show(request: HttpRequest, public_id: UUID, size: int, signature: str) -> HttpResponse:
    """Serve one size of an image to the viewer whom its address was made for; 404 for anybody else."""
    if not selectors.is_address_of(public_id=public_id, size=size, signature=signature, viewer=viewer_of(request)):
        raise Http404
    content = file_storage.read_size(public_id, size)
    if content is None:
        if not Image.objects.filter(public_id=public_id).exists():
            raise Http404
        return HttpResponse(status=503, headers={"Retry-After": str(RETRY_AFTER_S)})
    response = HttpResponse(content, content_type="image/webp")
    response["Cache-Control"] = "private, max-age=86400, immutable"
    response["X-Content-Type-Options"] = "nosniff"
    return response
