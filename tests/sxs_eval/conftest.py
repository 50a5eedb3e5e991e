"""A project, and a collection with captions of three models in two languages. A module may have its own instead."""

from __future__ import annotations

import pytest
from django.test import Client

from corpus.models import Collection
from inference.models import CaptioningModel
from people.models import Project
from tests.factories import make_collection, make_project
from tests.sxs_eval.planning import client_of, describe


@pytest.fixture
def project() -> Project:
    return make_project("lions")


@pytest.fixture
def collection() -> Collection:
    return make_collection(images=4)


@pytest.fixture
def models(collection: Collection) -> dict[str, CaptioningModel]:
    return {name: describe(collection, name, "de", "zh") for name in ("Alpha", "Beta", "Gamma")}


@pytest.fixture
def manager(project: Project) -> Client:
    return client_of(project.created_by)
