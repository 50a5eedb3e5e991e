"""Not there yet: these addresses answer 404."""

from django.http import Http404, HttpRequest, HttpResponse


def embedding_list(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def embedding_create(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def encoder_create(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def embedding_show(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def embedding_neighbours(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404
