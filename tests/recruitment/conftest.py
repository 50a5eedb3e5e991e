from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from annotation.models import Round
from core.people.models import Project, User
from office.recruitment.models import Participant, ProlificAccount, Study
from office.recruitment.services import prolific_api
from tests.factories import make_project, make_round
from tests.recruitment.panel import Panel, make_study
from tests.recruitment.prolific import TOKEN, Prolific, serving


def make_lions() -> tuple[Project, Round, None]:
    project = make_project("lions")
    return project, make_round(project=project, images=6, batch_size=3, replication=2), None


def make_begun() -> tuple[Project, Round, Study]:
    project, round, _none = make_lions()
    return project, round, make_study(project)


@pytest.fixture
def world(made_once, request) -> tuple[Project, Round, Study | None]:
    return made_once(make_begun if {"study", "panel", "user"} & {*request.fixturenames} else make_lions)


@pytest.fixture
def project(world) -> Project:
    return world[0]


@pytest.fixture
def round(world) -> Round:
    return world[1]


@pytest.fixture
def study(world) -> Study:
    return world[2]


@pytest.fixture
def panel(study: Study) -> Panel:
    return Panel(study)


@pytest.fixture
def user(panel: Panel) -> User:
    """The account of somebody from the panel, 5f1a, who has just arrived."""
    panel.send("5f1a")
    return Participant.objects.get().user


@pytest.fixture
def prolific(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Prolific]:
    """A simulator in the place of Prolific; requests to it wait for nothing."""
    there = Prolific()
    with serving(there) as address:
        settings.PROLIFIC_API = address
        monkeypatch.setattr(prolific_api, "FIRST_PAUSE_S", 0)
        yield there


@pytest.fixture
def account(project: Project) -> ProlificAccount:
    return ProlificAccount.objects.create(project=project, token=TOKEN)
