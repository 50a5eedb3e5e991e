"""Every step of judging takes its locks in the one order, so that no two wait in a circle; see docs/decisions/0039."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from django.db import connection

from core.people.services.accounts import delete_account
from core.people.services.consent import withdraw_consent
from sxs_eval.models import RaterState, RaterStatus
from sxs_eval.services import comparisons, judging
from sxs_eval.services.comparisons import PoolSettings
from sxs_eval.services.quality import exclude_rater, restore_rater
from tests.factories import NOW, make_comparison, make_rater
from tests.locks import check_order
from tests.sxs_eval.judged import answer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


class Judged:
    """A comparison with somebody who is judging, and has judged."""

    def __init__(self) -> None:
        about: dict[str, Any] = {"gold_percent": 50, "checks_before_pause": 1, "failures_percent": 0}
        self.comparison = make_comparison(images=4, batch_size=2, **about)
        self.project, self.by = self.comparison.project, self.comparison.project.created_by
        self.rater = make_rater(self.comparison)
        batch = self.take()()
        assert batch is not None
        self.batch = batch
        self.rows = list(batch.judgements.select_related("person").order_by("position"))
        self.about: dict[str, Any] = {
            "comparison": self.comparison,
            "rater": self.rater,
            "note": "",
            "by": self.by,
            "now": NOW,
        }

    def take(self) -> Callable[[], Any]:
        return partial(judging.take_batch, comparison=self.comparison, person=self.rater, now=NOW, rng=Random(1))

    def fail(self) -> Callable[[], Any]:
        """The answer by which the rater is paused."""
        for row in self.rows:
            if row.gold_id is not None:
                return partial(answer, row, -3)
            answer(row, 1)
        raise AssertionError("no gold pair was laid out")

    def restore(self) -> Callable[[], Any]:
        RaterStatus.objects.create(comparison=self.comparison, person=self.rater, state=RaterState.PAUSED)
        return partial(restore_rater, **self.about)

    def resume(self) -> Callable[[], Any]:
        judging.return_batch(batch_id=self.batch.pk, person=self.rater, now=NOW)
        return partial(judging.resume_batch, batch_id=self.batch.pk, person=self.rater, now=NOW)

    def change(self) -> Callable[[], Any]:
        settings = PoolSettings(
            batch_size=3, lease_s=60, is_open=True, gold_percent=0, repeat_percent=0, checks_before_pause=5,
            failures_percent=40,
        )  # fmt: skip
        about: dict[str, Any] = {"settings": settings, "by": self.by, "now": NOW}
        return partial(comparisons.change_comparison, comparison=self.comparison, **about)


STEPS: dict[str, Callable[[Judged], Callable[[], Any]]] = {
    "take": Judged.take,
    "be paused": Judged.fail,
    "give back": lambda j: partial(judging.return_batch, batch_id=j.batch.pk, person=j.rater, now=NOW),
    "resume": Judged.resume,
    "restore": Judged.restore,
    "exclude": lambda j: partial(exclude_rater, **j.about),
    "change": Judged.change,
    "change replication": lambda j: partial(
        comparisons.change_replication, comparison=j.comparison, replication=1, by=j.by, now=NOW
    ),
    "publish instructions": lambda j: partial(
        comparisons.publish_instructions, project=j.project, body="Look closely.", by=j.by, now=NOW
    ),
    "fill": lambda j: partial(comparisons.fill_comparison, comparison_id=j.comparison.pk),
    "withdraw and keep": lambda j: partial(
        withdraw_consent, project=j.project, user=j.rater, keeps_answers=True, now=NOW
    ),
    "withdraw and remove": lambda j: partial(
        withdraw_consent, project=j.project, user=j.rater, keeps_answers=False, now=NOW
    ),
    "delete the account": lambda j: partial(delete_account, user=j.rater, now=NOW),
}


@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer at a time")
@pytest.mark.parametrize("step", STEPS)
def test_locks_are_taken_in_one_order(step: str):
    check_order(STEPS[step](Judged()))
