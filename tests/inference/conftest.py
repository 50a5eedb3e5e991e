from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.test import Client

from inference import tasks
from inference.models import Run
from people.models import Project, Role
from tests.factories import make_project
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
def project() -> Project:
    """That of the researcher."""
    return make_project()


@pytest.fixture
def researcher(client: Client, project: Project) -> Client:
    client.force_login(make_person(Role.RESEARCHER, project))
    return client


@pytest.fixture
def run(fakes: None, project: Project) -> Run:
    """Waits for a worker; of the researcher's project, and shared with all."""
    return start_run(project=project)


@pytest.fixture
def batch_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many images each batch had that reached the model."""
    sizes: list[int] = []

    def note(keys: Sequence[str], _language: str) -> None:
        sizes.append(len(keys))

    before(monkeypatch, note)
    return sizes
