"""Requests that programs send with a key of their own.

A request that is sent again gets the first answer, and nothing is done twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from core.people.models import AnsweredRequest, User

KEPT = timedelta(days=1)
"""(ours) How long an answer is repeated: longer than programs try again."""


class KeyReusedError(Exception):
    """The key came with another request before."""


@dataclass(frozen=True)
class RequestAnswer:
    status: int
    location: str
    body: str


def answer_once(
    *, user: User, key: str, digest: str, now: datetime, answer: Callable[[], RequestAnswer]
) -> RequestAnswer:
    """Return what `answer` returns, or returned to the same request before.

    `answer` runs in one transaction with the key, so a second request with the key waits for the first answer. A
    request that fails leaves nothing and can be sent again.

    Raises KeyReusedError: `digest` is not that of the first request with `key`.
    """
    with transaction.atomic():
        row, is_first = AnsweredRequest.objects.get_or_create(
            user=user, key=key, defaults={"digest": digest, "answered_at": now}
        )
        if row.digest != digest:
            raise KeyReusedError
        if is_first:
            made = answer()
            row.status, row.location, row.body = made.status, made.location, made.body
            row.save(update_fields=["status", "location", "body"])
        return RequestAnswer(row.status, row.location, row.body)


def forget_old(*, now: datetime) -> None:
    AnsweredRequest.objects.filter(answered_at__lt=now - KEPT).delete()
