"""Tokens that only read and forms that come from elsewhere change nothing at any address."""

from __future__ import annotations

import pytest

from tests.api.seeded import Program
from tests.clients import client_of
from tests.doors.asking import API, Asked, a_visitor, ask, ours, writes
from tests.doors.world import INSIDERS, World
from tests.leaks.addresses import routes_of

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

API_WRITES = ("post", "put", "patch", "delete")
SIGNED = {"dashboard:email-stop"}
"""For no session: the address has a signed token, which no other site knows (tests/dashboard/test_emails.py)."""


@pytest.mark.parametrize("insider", INSIDERS)
def test_a_token_that_only_reads_writes_nothing_but_that_it_was_used(insider: int, world: World) -> None:
    wrong = []
    headers = Program(world.insiders[insider], may_write=False).headers
    for route in routes_of("api:"):
        with writes() as written:
            for asked in (
                one
                for address in route.addresses(world.known)[:2]
                for one in ask(a_visitor(), address, headers=headers)
            ):
                wrong += [f"{asked} writes {sql[:80]}" for sql in written if not is_noted(sql, asked)]
                written.clear()
                if asked.method != "get" and asked.status not in (302, 403, 404, 405):  # 302: the docs, for people
                    wrong.append(str(asked))
    assert not wrong, "\n".join(wrong)


def is_noted(sql: str, asked: Asked) -> bool:
    """When a token was used, and that a file of everything was taken."""
    return '"people_apitoken"' in sql or ('"people_auditentry"' in sql and "/export/" in asked.address)


@pytest.mark.parametrize("insider", INSIDERS)
def test_a_form_that_comes_from_elsewhere_changes_nothing(insider: int, world: World) -> None:
    """Of a browser that is signed in: without the token that only our pages have."""
    client = client_of(world.insiders[insider], enforce_csrf_checks=True, raise_request_exception=False)
    for route in ours():
        for address in route.addresses(world.known)[:1] if route.name not in SIGNED else ():
            with writes() as written:
                for asked in ask(client, address, *(API_WRITES if address.startswith(API) else ("post",))):
                    assert not written, f"{asked} writes {written}"
                    assert asked.status in (403, 404, 405), asked
