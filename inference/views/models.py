"""Not there yet: these addresses answer 404."""

from django.http import Http404, HttpRequest, HttpResponse

from inference.views.captions import model_list  # noqa: F401


def model_create(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def translator_create(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def model_show(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404
