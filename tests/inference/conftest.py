from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from inference import tasks
from inference.models import Run
from inference.services import model_cache
from people.models import Project, Role
from tests.factories import make_project
from tests.inference import tiny_models
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


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The tiny models that the test's file names in `NAMES`, for tests that compute in one thread."""
    import torch

    # Two processes of tests with two threads each wait for one another on two cores.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    root = tmp_path_factory.mktemp("models")
    for name in request.module.NAMES:
        getattr(tiny_models, f"save_{name}")(root / name)
    yield root
    torch.set_num_threads(before)


@pytest.fixture
def models(settings: Any, folder: Path) -> Path:
    """The operator's folder, with the tiny models in it."""
    settings.MODELS_FOLDER = folder
    model_cache.clear()
    return folder
