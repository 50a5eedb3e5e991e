"""However many tasks a pool has, a batch is read from where it begins in the order of the pool."""

from __future__ import annotations

import pytest
from django.db import connection

from annotation.models import Round
from annotation.services import batches, verification
from core.allocation.services.locks import FreeTasks
from sxs_eval.services import judging
from tests.factories import make_annotator
from tests.kept import kept
from tools.benchmarks import seed

pytestmark = pytest.mark.postgres

TASKS = 20_000
KINDS = (batches.KIND, verification.KIND, judging.KIND)
SORTS = {"postgresql": "Sort", "sqlite": "TEMP B-TREE"}


@kept
def round() -> Round:
    return seed.make_round("large", TASKS)


def plan_to_take(free_tasks: FreeTasks, round: Round) -> str:
    # Rows that are put back come without the statistics that were made with them.
    seed.analyse()
    about = {"person": make_annotator(round), "pool": round.pool, "project": round.project_id, "start": 0}
    plan: str = free_tasks.from_start.build(**about)[: round.pool.batch_size].explain()
    return plan


@pytest.mark.parametrize("free_tasks", [one for kind in KINDS for one in kind.free_tasks])
def test_no_pool_is_sorted_to_take_a_batch(round: Round, free_tasks: FreeTasks) -> None:
    plan = plan_to_take(free_tasks, round)

    assert "task_open_in_order" in plan
    assert SORTS[connection.vendor] not in plan
