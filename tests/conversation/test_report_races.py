"""Reports at the same moment as others and as answers: every image keeps exactly its places."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from annotation.models import Rating, Stage
from annotation.services import batches
from annotation.services.round_batches import StaleStateError
from core.allocation.services import lifecycle
from core.allocation.services.errors import TaskGoneError
from core.conversation import services
from core.conversation.models import ImageReport, ReportedImage, ReportedState
from core.conversation.rules import ReportReason
from core.people.models import User
from gapgame.models import Player, Season, Turn, TurnOutcome
from gapgame.services import playing
from tests.allocation.test_exact_replication import assert_exact
from tests.annotation.submitting import take
from tests.concurrency import together
from tests.conversation.reporting import report
from tests.factories import NOW, make_annotator, make_player, make_round, make_season


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


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
class TestTurns:
    """A report skips the sentence, or comes after the guess that ended the turn: never both."""

    def turn(self) -> Turn:
        player = make_player(make_season())
        playing.take_batch(player_id=player.pk, user=player.user, language="en", now=NOW, rng=Random(1))
        turn = playing.open_turn(player_id=player.pk, user=player.user, now=NOW)
        assert turn is not None
        return self.guess(turn, 1, "dog")

    def guess(self, turn: Turn, number: int, word: str) -> Turn:
        now = NOW + timedelta(minutes=number)
        return playing.make_guess(turn_id=turn.pk, user=turn.player.user, number=number, guess=word, now=now)

    def report(self, turn: Turn, comment: str = "") -> bool:
        about: dict[str, Any] = {"kind": "turns", "batch_id": turn.pk, "position": 1, "person": turn.player.user}
        return services.report_image(**about, reason=ReportReason.BROKEN, comment=comment, now=NOW)

    def race(self, turn: Turn) -> None:
        def find() -> None:
            with suppress(playing.StaleTurnError):
                self.guess(turn, 2, "cat")

        steps: list[Callable[[], object]] = [partial(self.report, turn, "Grey."), find] * 2
        together(lambda step: step(), steps)

    def assert_one_of_the_two(self, turn: Turn) -> None:
        turn.refresh_from_db()
        player = Player.objects.get(pk=turn.player_id)
        found = turn.outcome == TurnOutcome.ATTEMPT_2
        assert found or turn.outcome == TurnOutcome.SKIPPED
        assert (turn.score, player.total, player.turns) == ((900_000, 900_000, 1) if found else (0, 0, 0))
        assert turn.attempts.count() == 1 + found
        assert ImageReport.objects.count() == 1

    def test_a_report_and_a_guess_at_once_skip_the_sentence_or_score_it(self):
        turn = self.turn()
        self.race(turn)
        self.assert_one_of_the_two(turn)

    def test_a_report_after_the_turn_changes_no_score(self):
        turn = self.turn()
        self.guess(turn, 2, "cat")
        assert self.report(turn) is False
        self.assert_one_of_the_two(turn)

    def test_a_report_after_the_cut_off_leaves_the_turn_to_be_scored(self):
        turn = self.turn()
        Season.objects.update(ends_at=NOW)
        assert self.report(turn) is False
        turn.refresh_from_db()
        assert turn.outcome == TurnOutcome.OPEN

    def test_a_caption_s_language_is_no_reason_where_there_is_no_caption(self):
        turn = self.turn()
        who: dict[str, Any] = {"kind": "turns", "batch_id": turn.pk, "position": 1, "person": turn.player.user}
        with pytest.raises(ValueError, match="no reason"):
            services.report_image(**who, reason=ReportReason.LANGUAGE, comment="", now=NOW)

    @pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time")
    def test_without_the_lock_a_turn_would_be_scored_and_skipped(self, monkeypatch):
        turn, both = self.turn(), threading.Barrier(2)

        def look(turn_id: UUID, _user: User) -> Turn:
            found = Turn.objects.select_related("player__season").get(pk=turn_id)
            both.wait(20)
            return found

        monkeypatch.setattr(playing, "_locked_turn", look)
        # The report comes last, as it may.
        end, scored = playing._end_skipped, threading.Event()
        monkeypatch.setattr(playing, "_end_skipped", lambda *about: scored.wait(20) and end(*about))

        def find() -> None:
            self.guess(turn, 2, "cat")
            scored.set()

        steps: list[Callable[[], object]] = [partial(self.report, turn), find]
        together(lambda step: step(), steps)
        with pytest.raises(AssertionError):
            self.assert_one_of_the_two(turn)
