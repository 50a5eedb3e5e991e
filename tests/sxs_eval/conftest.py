"""A project with a comparison, and a collection with captions of three models. A module may have its own instead."""

from __future__ import annotations

import pytest
from django.test import Client

from core.images.models import Collection
from core.people.models import Project, Role
from research.inference.models import CaptioningModel
from sxs_eval import tasks
from sxs_eval.models import Comparison
from tests.clients import client_of
from tests.factories import make_collection, make_comparison
from tests.sxs_eval.planning import describe
from tests.sxs_eval.setting_up import member_of


@pytest.fixture
def comparison(project: Project) -> Comparison:
    made = make_comparison(project=project, images=3, gold_percent=20)
    made.project = project  # Tests that count queries do not pay for looking it up.
    return made


@pytest.fixture
def collection() -> Collection:
    return make_collection(images=4)


@pytest.fixture
def models(collection: Collection) -> dict[str, CaptioningModel]:
    return {name: describe(collection, name, "de", "zh") for name in ("Alpha", "Beta", "Gamma")}


@pytest.fixture
def researcher(project: Project) -> Client:
    return client_of(member_of(project, Role.RESEARCHER))


@pytest.fixture
def nudged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The comparisons that a worker was asked to fill; none is filled."""
    asked: list[int] = []
    monkeypatch.setattr(tasks.fill_comparison, "delay", asked.append)
    return asked
