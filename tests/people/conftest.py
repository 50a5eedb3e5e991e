from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.mfa.totp.internal import auth

from core.people import tasks
from core.people.models import Project, Role, User
from core.people.services.members import add_member
from tests.factories import make_project, make_user
from tests.people.hooks import PUBLIC, HookServer, hook_server

PASSWORD = "seven tall giraffes"


@pytest.fixture(autouse=True)
def half_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes of the second factor change each half minute, but not within a test."""
    codes = tuple(auth.yield_hotp_counters_from_time())
    monkeypatch.setattr(auth, "yield_hotp_counters_from_time", lambda: iter(codes))


@pytest.fixture
def project() -> Project:
    return make_project("lions", manager=make_user("mia"))


@pytest.fixture
def manager(project: Project) -> User:
    return project.created_by


@pytest.fixture
def annotator(project: Project) -> User:
    user = make_user("ann")
    add_member(project=project, user=user, role=Role.ANNOTATOR)
    return user


@pytest.fixture
def outsider() -> User:
    """Manages a project, but another one."""
    return make_project("zebras").created_by


@pytest.fixture
def installer() -> User:
    return make_user(is_staff=True, is_superuser=True)


@pytest.fixture
def ann_with_password() -> User:
    user = make_user("Ann", email="ann@example.org")
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def server() -> Iterator[HookServer]:
    with hook_server() as told:
        yield told


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What each name leads to; names that are not in it lead nowhere."""
    known: dict[str, list[str]] = {"hooks.example.org": [PUBLIC]}
    really = socket.getaddrinfo

    def resolve(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        numbers = known.get(host, [host])
        try:
            resolved = [
                really(number, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST) for number in numbers
            ]
        except OSError:
            raise socket.gaierror from None
        return [entry for entries in resolved for entry in entries]

    monkeypatch.setattr("socket.getaddrinfo", resolve)
    return known


@pytest.fixture
def to_private(settings: Any) -> None:
    settings.WEBHOOKS_TO_PRIVATE_ADDRESSES = True


@pytest.fixture
def nudged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The deliveries that a worker was asked for; none is sent."""
    asked: list[int] = []
    monkeypatch.setattr(tasks.deliver, "delay", asked.append)
    return asked
