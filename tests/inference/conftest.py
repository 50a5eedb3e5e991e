from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.test import Client

from inference import tasks
from inference.models import Run
from people.models import Role
from tests.inference.fake_runs import before
from tests.inference.watched import make_person, offer_fakes, start_run


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backends that need no model can be chosen, too."""
    offer_fakes(monkeypatch)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs that a worker was asked for; none is worked on."""
    asked: list[int] = []
    monkeypatch.setattr(tasks, "ask_for_run", lambda run: asked.append(run.pk))
    return asked


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(make_person(Role.RESEARCHER))
    return client


@pytest.fixture
def run(fakes: None) -> Run:
    """Waits for a worker."""
    return start_run()


@pytest.fixture
def batch_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many images each batch had that reached the model."""
    sizes: list[int] = []

    def note(keys: Sequence[str], _language: str) -> None:
        sizes.append(len(keys))

    before(monkeypatch, note)
    return sizes
