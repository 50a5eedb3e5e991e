"""What views read from a request, set in a browser, or send as a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from django.conf import settings
from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme

from core.people.models import User
from tabular.downloads import CSV_TYPE

R = TypeVar("R", bound=HttpResponseBase)


def user_of(request: HttpRequest) -> User:
    """Return the signed-in person; for views that require one."""
    return cast("User", request.user)


def number_in(sent: Mapping[str, Any], name: str) -> int | None:
    """Return a number that the page put into a form, such as a key; None if there is none."""
    return _number(str(sent.get(name, "")))


def numbers_in(sent: QueryDict, name: str) -> list[int]:
    """Return the numbers that the page put into a form under one name."""
    return [number for text in sent.getlist(name) if (number := _number(text)) is not None]


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


TYPED = "typed"


def keep_typed(request: HttpRequest, url: str, **typed: str) -> None:
    """Keep what somebody without scripts typed, for the next time that they see the page at `url`."""
    request.session[TYPED] = {"url": url, **typed}


def take_typed(request: HttpRequest) -> dict[str, str]:
    """Return what was typed on this page, once: reloading it shows what is stored."""
    is_here = request.session.get(TYPED, {}).get("url") == request.path
    return dict(request.session.pop(TYPED)) if is_here else {}


def is_htmx(request: HttpRequest) -> bool:
    """Return whether the page's script asks for part of a page rather than a whole one."""
    return request.headers.get("HX-Request") == "true"


def render_part(
    request: HttpRequest, template: str, context: dict[str, Any], *, page: str, is_over: bool
) -> HttpResponse:
    """Render the part of a page that asks for itself again while something goes on; once it is over, all is reloaded.

    A browser without the script is sent to the address `page`.
    """
    if not is_htmx(request):
        return redirect(page)
    response = render(request, template, context)
    if is_over:
        response["HX-Refresh"] = "true"
    return response


class RefusalsShown:
    """A block in which something may be refused: then the form says why, or the next page where there is no form."""

    def __init__(self, place: BaseForm | HttpRequest, *kinds: type[Exception], field: str | None = None) -> None:
        self.place, self.kinds, self.field = place, kinds, field

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not isinstance(error, self.kinds):
            return False
        if isinstance(self.place, HttpRequest):
            messages.error(self.place, str(error))
        else:
            self.place.add_error(self.field, str(error))
        return True


def way_back(request: HttpRequest, asked: str, *, otherwise: str) -> str:
    """Return the address that a form asks to return to, if it is of this site, and else another."""
    is_here = url_has_allowed_host_and_scheme(
        asked, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return asked if is_here else otherwise


def keep_language(response: HttpResponse, language: str) -> None:
    """Make the browser ask for `language` from now on ("" restores its own setting).

    Reading it from the account would cost a query per request.
    """
    if not language:
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME)
        return
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        path=settings.LANGUAGE_COOKIE_PATH,
        domain=settings.LANGUAGE_COOKIE_DOMAIN,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
        samesite="Lax",
    )


def keep_choice(response: HttpResponse, name: str, value: str) -> None:
    """Keep in the browser how somebody wants a page shown; empty for the default."""
    if not value:
        response.delete_cookie(cookie_of_choice(name))
        return
    response.set_cookie(
        cookie_of_choice(name),
        value,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def kept_choice(request: HttpRequest, name: str) -> str:
    return request.COOKIES.get(cookie_of_choice(name), "")


def cookie_of_choice(name: str) -> str:
    return f"{settings.COOKIE_PREFIX}{name}"


def as_download(response: R, name: str) -> R:
    """Have it saved as a file `name`."""
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def csv_download(lines: Iterable[str] | Iterable[bytes], name: str) -> StreamingHttpResponse:
    """Send lines of CSV as a file `name`, as they are made."""
    return as_download(StreamingHttpResponse(lines, content_type=CSV_TYPE), name)
