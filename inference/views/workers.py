"""Not there yet: these addresses answer 404."""

from django.http import Http404, HttpRequest, HttpResponse


def worker_list(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404
