"""How a page's script saves as one goes and goes on: JSON answers that say what became of what it sent."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from allocation.services.errors import BatchReturnedError, LeaseExpiredError
from annotation.services import batches as services

MS_PER_DAY = 24 * 3600 * 1000
CLEAR = "Clear-Site-Data"


def saving_view(
    view: Callable[..., HttpResponse], *, batch: str = "annotation:batch-show"
) -> Callable[..., HttpResponse]:
    """Answer in JSON whatever happens: 401 signed out, 404 not yours, 409 moved on, 410 closed, 422 refused.

    `batch` is the name of the address where the batch shows where it stands.
    """

    @wraps(view)
    def answer(request: HttpRequest, batch_id: UUID, *args: Any, **kwargs: Any) -> HttpResponse:
        location = reverse(batch, args=[batch_id])
        if not request.user.is_authenticated:
            sign_in = f"{reverse('account_login')}?next={location}"
            return _no(401, "signed-out", _("You are signed out. Your text is kept on this device."), sign_in)
        try:
            return view(request, batch_id, *args, **kwargs)
        except ObjectDoesNotExist:
            return _no(404, "gone", _("This image is not assigned to you."), reverse("annotation:work-show"))
        except services.StaleStateError:
            return _no(409, "moved-on", _("This batch has moved to another stage in another tab."), location)
        except services.StaleDraftError as conflict:
            stored = {"state": "conflict", "revision": conflict.item.revision, "text": conflict.item.text}
            return JsonResponse(stored, status=409)
        except LeaseExpiredError:
            return _no(410, "closed", _("This batch has expired. You can resume it."), location)
        except BatchReturnedError:
            return _no(410, "closed", _("This batch was returned. You can resume it."), location)
        except services.InvalidCaptionError as refused:
            return JsonResponse({"state": "refused", "message": str(refused.problem.message)}, status=422)

    return answer


def says_where(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer a page's script, which asks for JSON, with 200 and the address where a form is redirected.

    WebKit never tells a script of a redirect that clears site data. Who is signed out stays on the page: 401.
    """

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        if request.accepts("text/html") or not isinstance(response, HttpResponseRedirect):
            return response
        if not request.user.is_authenticated:
            return JsonResponse({"state": "signed-out"}, status=401)
        told = JsonResponse({"location": response.url})
        if CLEAR in response:
            told[CLEAR] = response[CLEAR]
        return told

    return answer


def _no(status: int, state: str, message: str, location: str) -> JsonResponse:
    return JsonResponse({"state": state, "message": message, "location": location}, status=status)


def active_ms_of(request: HttpRequest) -> int:
    value = request.POST.get("active_ms", "")
    return min(int(value), MS_PER_DAY) if value.isdecimal() and len(value) < 12 else 0
