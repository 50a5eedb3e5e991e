"""Not there yet: these addresses answer 404."""

from django.http import Http404, HttpRequest, HttpResponse


def gallery(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def model_stabilisers(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404
