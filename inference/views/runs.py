"""Not there yet: these addresses answer 404."""

from django.http import Http404, HttpRequest, HttpResponse


def run_list(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def run_create(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def run_show(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def run_progress(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def run_failures(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def run_pause(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def run_resume(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def run_cancel(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404


def run_retry(request: HttpRequest, **_arguments: object) -> HttpResponse:
    raise Http404
