from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from core.people.models import Project, Role
from research.inference import tasks
from research.inference.backends.captioners import Captioner
from research.inference.backends.endpoint import EndpointBackend
from research.inference.models import Run
from research.inference.services import model_cache
from research.inference.training import bases
from tests.factories import make_project
from tests.inference import tiny_models
from tests.inference.fake_endpoint import KEY, FakeEndpoint, FakeTime, spec
from tests.inference.fake_runs import before
from tests.inference.trained import TRAINING
from tests.inference.watched import make_person, offer_fakes, start_run


@pytest.fixture(scope="module")
def smaller() -> Iterator[None]:
    """A small captioner from nothing has a tenth of its size."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in {"SIDE": 32, "WIDTH": 32, "LAYERS": 1, "HEADS": 2}.items():
            patch.setattr(bases, name, size)
        yield


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
    client.force_login(make_person(Role.RESEARCHER, project, name="res"))
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
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny models that the test's file names in `NAMES`."""
    root = tmp_path_factory.mktemp("models")
    for name in request.module.NAMES:
        getattr(tiny_models, f"save_{name}")(root / name)
    return root


@pytest.fixture
def models(settings: Any, folder: Path) -> Path:
    """The operator's folder, with the tiny models in it."""
    settings.MODELS_FOLDER = folder
    model_cache.clear()
    return folder


@pytest.fixture
def server(settings: Any) -> Iterator[FakeEndpoint]:
    """The endpoint “lab” of the settings; at the other one, nobody answers."""
    endpoint = FakeEndpoint()
    settings.CAPTION_ENDPOINTS = {"lab": endpoint.address, "other": "http://127.0.0.1:9/v1"}
    settings.CAPTION_ENDPOINT_KEYS = {"lab": KEY}
    model_cache.clear()
    yield endpoint
    model_cache.clear()
    endpoint.close()


@pytest.fixture
def fake_time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def load(server: FakeEndpoint, fake_time: FakeTime) -> Iterator[Any]:
    """Loads a model behind “lab” with these options, in time that goes on by itself or in real time."""
    loaded: list[Captioner] = []

    def one(*, real: bool = False, seed: int = 1, **options: Any) -> Captioner:
        backend = EndpointBackend()
        if not real:
            backend = EndpointBackend(clock=fake_time.clock, wait=fake_time.wait, rng=random.Random(seed))
        loaded.append(backend.load(spec(**options)))
        return loaded[-1]

    yield one
    for captioner in loaded:
        captioner.close()


@pytest.fixture(scope="module")
def base(smaller: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model that has not learned anything yet."""
    folder = tmp_path_factory.mktemp("base")
    bases.new_captioner(folder, [example.caption for example in TRAINING], seed=3)
    return folder
