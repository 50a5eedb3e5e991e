"""The steps of a whole project take their locks in the one order that docs/decisions/0039 states."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection

from annotation.rules.campaign import UnfinishedBatches
from core.people.models import Project
from office.dashboard.services.project_deletion import ask_for_deletion
from office.dashboard.services.projects import archive_project, rename_project, restore_project
from tests.annotation.submitting import submit_captions, take
from tests.factories import NOW, make_annotator, make_round
from tests.locks import check_order

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


def make_campaign() -> Project:
    """With a batch that somebody works on."""
    round = make_round(images=6, batch_size=2)
    person = make_annotator(round)
    submit_captions(round, person)
    take(round, person)
    return round.project


def archived(project: Project) -> Project:
    return archive_project(project=project, assigned=UnfinishedBatches.LET_FINISH, by=project.created_by, now=NOW)


STEPS: dict[str, Callable[[Project, dict[str, Any]], Callable[[], Any]]] = {
    "rename": lambda project, by: partial(rename_project, project=project, name="New", description="", **by),
    "archive": lambda project, by: partial(archive_project, project=project, assigned=UnfinishedBatches.RETURN, **by),
    "restore": lambda project, by: partial(restore_project, project=archived(project), **by),
    "ask for deletion": lambda project, by: partial(ask_for_deletion, project=archived(project), **by),
}


@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer at a time")
@pytest.mark.parametrize("step", STEPS)
def test_every_step_locks_in_the_order(step):
    project = make_campaign()
    check_order(STEPS[step](project, {"by": project.created_by, "now": NOW}))
