"""Idempotency-Key: what a program sends again by the same key has happened once, and gets the first answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.problems import ALL_CODES, ApiError
from core.people.models import AnsweredRequest
from core.people.requests import user_of
from core.people.services.answered_requests import KeyReusedError, RequestAnswer, answer_once

HEADER = "Idempotency-Key"
MAX_KEY_CHARACTERS = AnsweredRequest._meta.get_field("key").max_length
KEY = OpenApiParameter(
    HEADER,
    {"type": "string", "maxLength": MAX_KEY_CHARACTERS, "pattern": "^[!-~]+$"},
    OpenApiParameter.HEADER,
    description="Any text of your own, such as a UUID. For a day, the same request with the same key is not carried "
    "out again, but gets the first answer.",
)
assert "key-reused" in ALL_CODES


def keyed(request: Request, view: Callable[[], Any], *, secrets: Collection[str] = ()) -> Any:
    """Answer by `view`, or as the same request with the same key was answered before.

    Fields of the names `secrets` are null in what is kept.

    Raises ApiError: the key is none, or came with another request.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return view()
    if not re.fullmatch(rf"[!-~]{{1,{MAX_KEY_CHARACTERS}}}", key, re.ASCII):
        said = _("The header %(name)s needs 1 to %(most)s letters, digits or signs of ASCII, without blanks.")
        raise ApiError(400, "malformed", said % {"name": HEADER, "most": MAX_KEY_CHARACTERS})

    first: list[Response] = []

    def answer() -> RequestAnswer:
        response = view()
        first.append(response)
        kept = _without(secrets, response.data)
        return RequestAnswer(response.status_code, response.get("Location", ""), JSONRenderer().render(kept).decode())

    try:
        given = answer_once(user=user_of(request), key=key, digest=_digest(request), now=timezone.now(), answer=answer)
    except KeyReusedError:
        said = _("This key was sent with another request before. Use a new one for each request.")
        raise ApiError(409, "key-reused", said) from None
    if first:
        return first[0]
    headers = {"Location": given.location} if given.location else None
    return Response(json.loads(given.body) if given.body else None, status=given.status, headers=headers)


def _without(secrets: Collection[str], data: Any) -> Any:
    if not secrets:
        return data
    if isinstance(data, dict):
        return {name: None if name in secrets else _without(secrets, value) for name, value in data.items()}
    return [_without(secrets, value) for value in data] if isinstance(data, list) else data


def _digest(request: Request) -> str:
    digest = sha256()
    for piece in _pieces(request):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(request: Request) -> Iterator[bytes]:
    yield f"{request.method} {request.get_full_path()}\n".encode()
    if not isinstance(request.data, QueryDict):
        yield json.dumps(request.data, sort_keys=True).encode()
        return
    # The limits between the parts of a form differ each time that it is sent.
    for name, values in sorted(request.data.lists()):
        for value in values:
            yield json.dumps([name, _name(value)]).encode()
            if isinstance(value, UploadedFile):
                yield from value.chunks()
                value.seek(0)


def _name(value: Any) -> Any:
    return [value.name, value.size] if isinstance(value, UploadedFile) else value
