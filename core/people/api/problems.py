"""How the API refuses: one shape for everything, RFC 9457, with a stable code and the sentence that pages show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rest_framework import exceptions

ALL_CODES: dict[str, str] = {
    "malformed": "The body is no JSON, or not as Content-Type says.",
    "bad-cursor": "The cursor is not one that this address gave out. Begin without one.",
    "not-signed-in": "The address needs a token or a session.",
    "wrong-token": "The token is unknown, was revoked or has expired.",
    "not-allowed": "Signed in, but not for this; a form of a session without its CSRF token is refused so, too.",
    "second-factor-missing": "Managers must have a second factor here, and the person has none.",
    "read-only-token": "The token only reads; make one that may also change things.",
    "not-found": "There is nothing here, or nothing that you may know of.",
    "images-assigned": "Images of this project are assigned to you, and this has what others wrote about them.",
    "archived": "The project is archived. A manager must restore it before anything can be changed.",
    "method-not-allowed": "The address is there, but not for this method; see Allow.",
    "not-acceptable": "The response is not available in the format that Accept requests.",
    "unsupported-media-type": "Send JSON.",
    "invalid": "Some fields are missing or not valid; see errors.",
    "key-reused": "The Idempotency-Key came with another request before. Use a new one for each request.",
    "too-many-requests": "Try again after Retry-After.",
    "too-large": "The body is larger than 1 MB.",
    "too-slow": "The body arrived too slowly or incomplete.",
    "fault": "The server had an error. Its log has details under the X-Request-ID of the response.",
    "busy": "Too many downloads at once. Try again after Retry-After.",
    "no-room": "The server's disk is full. Try again after Retry-After.",
}
"""The meaning of each code, for the documentation; the apps add theirs."""


def explain(codes: Mapping[str, str]) -> None:
    """Add an app's codes with their meanings."""
    ALL_CODES.update(codes)


class ApiError(exceptions.APIException):
    """A refusal. `errors` has details, by field or by missing requirement."""

    def __init__(
        self, status: int, code: str, detail: object, errors: Mapping[str, Sequence[object]] | None = None, **more: Any
    ) -> None:
        assert code in ALL_CODES, code
        super().__init__(str(detail), code)
        self.status_code, self.problem_code = status, code
        self.errors = {name: [str(reason) for reason in reasons] for name, reasons in (errors or {}).items()}
        self.more = more


@contextmanager
def refused_as(code: str, *kinds: type[Exception]) -> Iterator[None]:
    """Answer 409 with `code` and the reason where something is refused by an error of `kinds`."""
    try:
        yield
    except kinds as refused:
        raise ApiError(409, code, refused) from None


@contextmanager
def field_refused(field: str, *kinds: type[Exception]) -> Iterator[None]:
    """Answer 422 with the reason at `field` where it is refused by an error of `kinds`."""
    try:
        yield
    except kinds as refused:
        raise exceptions.ValidationError({field: [str(refused)]}) from None
