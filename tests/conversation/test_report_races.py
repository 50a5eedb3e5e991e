"""Reports at the same moment as others and as answers: every image keeps exactly its places."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from django.db import connection

from annotation.models import Rating, Stage
from annotation.services import batches
from annotation.services.round_batches import StaleStateError
from core.allocation.services import lifecycle
from core.allocation.services.errors import TaskGoneError
from core.conversation.models import ImageReport, ReportedImage, ReportedState
from tests.allocation.test_exact_replication import assert_exact
from tests.annotation.submitting import take
from tests.concurrency import together
from tests.conversation.reporting import report
from tests.factories import NOW, make_annotator, make_round


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
class TestRaces:
    def setting(self):
        round = make_round(images=1, replication=2)
        take(round, make_annotator(round))
        return round, take(round, make_annotator(round))

    def test_two_reports_at_once_free_the_place_once(self):
        round, batch = self.setting()
        together(lambda _tab: report(batch), range(4))

        assert ImageReport.objects.count() == 1
        assert_exact(round.pool)

    @pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time")
    def test_without_the_lock_two_reports_would_free_two_places(self, monkeypatch):
        round, batch = self.setting()
        both = threading.Barrier(2)
        skip = lifecycle.skip_assignment

        def skip_together(**about: Any) -> bool:
            both.wait(20)
            return skip(**about)

        unlocked = partial(type(batch).with_heads().get)
        monkeypatch.setattr(batches.KIND, "locked", lambda batch_id, _person: unlocked(pk=batch_id))
        monkeypatch.setattr(lifecycle, "skip_assignment", skip_together)
        monkeypatch.setattr(batches.KIND, "close_if_all_skipped", lambda _batch, _now: None)
        together(lambda _tab: report(batch), range(2))

        with pytest.raises(AssertionError):
            assert_exact(round.pool)

    def test_a_report_and_a_save_at_once_leave_exact_places(self):
        round = make_round(images=2, replication=2)
        batch = take(round, make_annotator(round))
        who = {"batch_id": batch.pk, "person": batch.lease.person, "now": NOW}

        def save() -> None:
            # After a report of the image its rating is refused; after both there is nothing left to rate.
            with suppress(StaleStateError, TaskGoneError):
                batches.save_rating(position=1, rating=Rating.GOOD, active_ms=0, **who)

        steps: list[Callable[[], object]] = [partial(report, batch), save, partial(report, batch, 2), save]
        together(lambda step: step(), steps)

        assert_exact(round.pool)
        batch.refresh_from_db()
        assert batch.stage == Stage.SUBMITTED

    def test_people_who_report_an_image_at_once_are_counted_together(self):
        round = make_round(images=1, replication=4)
        assigned = [take(round, make_annotator(round)) for _ in range(4)]
        together(report, assigned)

        assert ReportedImage.objects.get().state == ReportedState.PAUSED
        assert_exact(round.pool)
