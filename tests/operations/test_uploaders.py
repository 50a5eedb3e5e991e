"""Large requests: how much is read, and written to the disk, depends on the address and on who sends it."""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client

from config import asgi
from core.people.models import Role
from core.people.services.members import add_member
from office.operations.rules.uploads import MAX_BODY_BYTES, project_at
from tests.factories import make_project, make_user
from tests.operations.asked import Asked, echo, length

# The threads of the server have connections of their own.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

SIXTY_MB = 60 * MAX_BODY_BYTES
CHUNKED = (b"transfer-encoding", b"chunked")
PIECE = b"x" * MAX_BODY_BYTES
WHO = ["nobody", "player", "annotator", "manager", "researcher"]
OVERSEERS = {"manager", "researcher"}
UPLOADS = ["/projects/lions/plan/", "/projects/lions/import/"]


@pytest.fixture
def cookies() -> dict[str, bytes]:
    """With which each asks who has to do with the lions."""
    lions, cookies = make_project("lions"), {"nobody": b"sessionid=guessed"}
    for name in WHO[1:]:
        user, client = make_user(name), Client()
        add_member(project=lions, user=user, role=Role(name))
        client.force_login(user)
        cookies[name] = f"sessionid={client.cookies[settings.SESSION_COOKIE_NAME].value}".encode()
    return cookies


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many bytes were kept of bodies, piece by piece."""
    kept: list[int] = []
    really = SpooledTemporaryFile.write

    def write(self: SpooledTemporaryFile[bytes], data: bytes) -> int:
        kept.append(len(data))
        return really(self, data)

    monkeypatch.setattr(SpooledTemporaryFile, "write", write)
    yield kept
    connections.close_all()


def send(path: str, cookie: bytes, announced: tuple[bytes, bytes]) -> Asked:
    asked = Asked(echo, check_uploader=asgi.check_uploader)
    return asked.ask(path, *[PIECE] * 60, headers=[(b"cookie", cookie), announced])


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize(("announced", "most"), [(length(SIXTY_MB), 0), (CHUNKED, 2 * MAX_BODY_BYTES)])
def test_where_no_files_are_taken_nobody_fills_the_disk(
    cookies: dict[str, bytes], written: list[int], who: str, announced: Any, most: int
):
    for path in ("/accounts/login/", "/profile/", "/api/v1/work/"):
        written.clear()

        assert send(path, cookies[who], announced).status == 413
        assert sum(written) <= most


@pytest.mark.parametrize("who", sorted({*WHO} - OVERSEERS))
@pytest.mark.parametrize("announced", [length(SIXTY_MB), CHUNKED])
def test_where_files_are_taken_nothing_is_read_of_who_may_send_none(
    cookies: dict[str, bytes], written: list[int], who: str, announced: Any
):
    for path in UPLOADS:
        asked = send(path, cookies[who], announced)

        assert (asked.status, asked.received) == (403, 0)
    assert written == []


@pytest.mark.parametrize("who", sorted(OVERSEERS))
def test_who_oversees_a_project_sends_files_to_it_and_to_no_other(
    cookies: dict[str, bytes], written: list[int], who: str
):
    make_project("zebras")
    for path in UPLOADS:
        assert send(path, cookies[who], CHUNKED).status == 200
        assert sum(written) == SIXTY_MB
        written.clear()

    asked = send("/projects/zebras/plan/", cookies[who], length(SIXTY_MB))
    assert (asked.status, asked.received, written) == (403, 0, [])
    assert asgi.NOT_YOURS.encode() in asked.content


def test_an_address_that_can_be_of_no_project_is_looked_up_nowhere():
    """PostgreSQL cannot even be asked for a slug with a NUL in it."""
    assert project_at("/projects/lions/plan/") == "lions"
    assert project_at("/projects/li\0ns/plan/") == ""
