"""Not there yet: these addresses answer 404."""

from django.http import Http404, HttpRequest, HttpResponse


def model_try(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def trial_show(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404
