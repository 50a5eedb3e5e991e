"""Asking for addresses by every method, and what is noticed of the answers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client

from core.people.models import User
from tests.api.seeded import WRITTEN
from tests.clients import client_of
from tests.doors.world import HOOK, NAME, NOTE
from tests.leaks.addresses import Route, routes
from tests.leaks.walk import WRITES

TOLD_TO_NOBODY = (NAME, WRITTEN, NOTE, HOOK, "ann-lions", "rae-lions", "manager-of-lions", "whsec_")
API = "/api/"
SENT = {"rating": "GOOD", "text": "Ein Satz.", "revision": "0", "language": "en"}


def ours() -> list[Route]:
    """Without the administration, which asks by itself whether one is of the staff."""
    return [route for route in routes() if not route.template.startswith("admin/")]


@dataclass(frozen=True)
class Asked:
    method: str
    address: str
    status: int
    told: Sequence[str]
    leads_to: str
    cache_control: str

    @property
    def is_to_sign_in(self) -> bool:
        return self.status == 401 or (self.status == 302 and self.leads_to.startswith("/accounts/login/"))

    def __str__(self) -> str:
        return f"{self.method} {self.address}: {self.status} {self.leads_to} {list(self.told)}"


def ask(client: Client, address: str, *methods: str, headers: Mapping[str, str] | None = None) -> Iterator[Asked]:
    """By each of `methods`, or by all that there are; what it changes is undone."""
    all_methods = ("get", "post", "put", "patch", "delete") if address.startswith(API) else ("get", "post")
    for method in methods or all_methods:
        more = {"content_type": "application/json"} if address.startswith(API) and method != "get" else {}
        with undone(client):
            cache.clear()
            response = getattr(client, method)(address, {} if method == "get" else SENT, **more, headers=headers)
            body = b"".join(response.streaming_content) if response.streaming else response.content
        text = f"{body.decode(errors='replace')} {dict(response.headers)}"
        told = [word for word in TOLD_TO_NOBODY if word in text]
        given = response.headers
        leads_to, cache_control = given.get("Location", ""), given.get("Cache-Control", "")
        yield Asked(method, address, response.status_code, told, leads_to, cache_control)


@contextmanager
def undone(client: Client) -> Iterator[None]:
    cookies, point = copy.deepcopy(client.cookies), transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(point)
        client.cookies = cookies


def a_visitor() -> Client:
    return Client(raise_request_exception=False)


def signed_in(user: User) -> Client:
    return client_of(user, raise_request_exception=False)


@contextmanager
def writes() -> Iterator[list[str]]:
    """What is written meanwhile, besides sessions."""
    written: list[str] = []

    def watch(execute: Any, sql: str, *more: Any) -> Any:
        if WRITES.match(sql):
            written.append(sql)
        return execute(sql, *more)

    with connection.execute_wrapper(watch):
        yield written
