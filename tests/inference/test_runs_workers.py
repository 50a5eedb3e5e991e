"""Workers that share a run: pauses, slices and leases, whose the chunks are, and that nothing is stored twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import OperationalError

from core.jobs.services.leases import LEASE
from research.inference.models import ModelCaption, Run, RunState
from research.inference.services import chunks, executor, model_cache, outcome_store, steering
from tests.concurrency import together
from tests.factories import NOW, make_collection
from tests.inference.fake_backend import FakeCaptioner
from tests.inference.fake_runs import (
    LATER,
    before,
    check_complete,
    counts,
    fake,  # noqa: F401 - for all tests here
    go,
    log_of,
    make_model,
    make_run,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def go_overtaken(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], Run]:
    """Work on a run that another worker takes over, and finishes, before anything is stored."""
    stored = outcome_store.OutcomeStore.store_once

    def going(run: Run) -> Run:
        def after_it_was_taken_over(self: Any, claimed: Any, outcomes: Any, **about: Any) -> Any:
            with monkeypatch.context() as patch:
                patch.setattr(outcome_store.OutcomeStore, "store_once", stored)
                go(run, at=LATER, worker="two:2")
            return stored(self, claimed, outcomes, **about)

        monkeypatch.setattr(outcome_store.OutcomeStore, "store_once", after_it_was_taken_over)
        return go(run)

    return going


@pytest.fixture
def each_with_a_model_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As workers have, which are processes and not threads."""
    monkeypatch.setattr(model_cache, "captioner", lambda model: FakeCaptioner(model.spec))


def test_pausing_takes_effect_within_a_batch_and_what_was_computed_is_kept(batch_sizes, monkeypatch):
    monkeypatch.setattr(executor, "STORE_EVERY_S", 0.0)
    run = make_run(40, model=make_model(batch_size=4), languages=["de"])
    paused_at: list[int] = []
    stored = outcome_store.OutcomeStore.store_once

    def pause_after_the_third(self: Any, claimed: Any, outcomes: Any, **about: Any) -> Any:
        answer = stored(self, claimed, outcomes, **about)
        if not paused_at and len(ModelCaption.objects.all()) >= 12:
            steering.pause(run, now=NOW)
            paused_at.append(len(batch_sizes))
        return answer

    monkeypatch.setattr(outcome_store.OutcomeStore, "store_once", pause_after_the_third)
    go(run)

    assert run.state == RunState.PAUSED
    assert len(batch_sizes) <= paused_at[0] + 2, "the batch at hand, and the one that the device was given with it"
    assert counts(run)[2] == sum(batch_sizes) == ModelCaption.objects.count()
    assert not run.chunks.filter(state="running").exists()
    assert set(run.chunks.values_list("attempts", "holder")) == {(0, "")}
    assert go(run).state == RunState.PAUSED

    steering.resume(run, now=NOW)
    check_complete(go(run))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_worker_ends_after_its_slice_and_is_told_that_there_is_more():
    run = make_run(40, languages=["de"])

    assert executor.execute_run(run_id=run.pk, worker="w", clock=lambda: NOW, slice_s=0.0)
    assert not run.chunks.filter(state="running").exists()
    check_complete(go(run))


def test_the_model_stays_loaded_for_the_next_slice(monkeypatch):
    loaded: list[int] = []
    init = FakeCaptioner.__init__

    def counted(self: FakeCaptioner, spec: Any) -> None:
        loaded.append(1)
        init(self, spec)

    monkeypatch.setattr(FakeCaptioner, "__init__", counted)
    run = make_run(20)
    for _ in range(3):
        executor.execute_run(run_id=run.pk, worker="one:1", clock=lambda: NOW, slice_s=0.0)
    go(run)

    assert len(loaded) == 1
    assert log_of(run).count("Model ready") == 1


def test_the_leases_are_renewed_while_the_device_computes(monkeypatch):
    monkeypatch.setattr(chunks, "RENEW_EVERY_S", 0.01)
    monkeypatch.setattr(executor, "STORE_EVERY_S", 0.01)
    run = make_run(3, languages=["de"])
    leases: set[Any] = set()

    def noting() -> Any:
        leases.add(run.chunks.get().lease_until)
        return NOW

    def take_long(_keys: Sequence[str], _language: str) -> None:
        until = time.monotonic() + 10
        while len(leases) < 5 and time.monotonic() < until:
            time.sleep(0.01)

    before(monkeypatch, take_long)
    executor.execute_run(run_id=run.pk, worker="one:1", clock=noting)

    assert len(leases) >= 5
    check_complete(run)


def test_the_lease_of_a_chunk_that_waits_is_renewed_while_small_batches_of_another_are_stored(monkeypatch):
    monkeypatch.setattr(chunks, "RENEW_EVERY_S", 0.0)
    run = make_run(16, model=make_model(batch_size=8), languages=["de", "fr", "es", "it", "pt"])
    waiting: list[Any] = []

    def noting() -> Any:
        waiting.append(run.chunks.get(position=2).lease_until)
        return NOW

    executor.execute_run(run_id=run.pk, worker="one:1", clock=noting)

    check_complete(run)
    assert len({lease for lease in waiting if lease}) >= 8


def test_a_expired_chunk_is_resumed_where_it_was_and_the_log_says_from_whom():
    run = make_run(16, languages=["de"])
    _chunk, silent = chunks.claim(run_id=run.pk, worker="gone:1", now=NOW)
    assert silent == ""
    go(run, at=NOW)
    assert (run.state, counts(run)[2]) == (RunState.RUNNING, 8), "the other one's chunk is left alone"

    check_complete(go(run, at=NOW + LEASE))
    assert "Took over from gone:1, which stopped responding." in log_of(run)


def test_who_lost_the_lease_stores_nothing_and_counts_nothing(go_overtaken):
    run = make_run(8, model=make_model(batch_size=8), languages=["de"])
    go_overtaken(run)

    check_complete(run)
    assert counts(run) == (8, 0, 8, 0)


def stored_without_a_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it would be if nobody looked whose chunk it is, and captions that are there were left as they are."""
    monkeypatch.setattr(chunks, "record_stored", lambda chunk, *, now, is_complete: None)
    monkeypatch.setattr(
        "research.inference.services.captioning.store_captions", lambda _model, _run, made, *, now: len(made)
    )


def test_the_control_without_leases_captions_are_counted_twice(go_overtaken, monkeypatch):
    run = make_run(8, model=make_model(batch_size=8), languages=["de"])
    Run.objects.filter(pk=run.pk).update(total=16)
    stored_without_a_lease(monkeypatch)
    go_overtaken(run)

    assert counts(run)[2] == 16


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("each_with_a_model_of_its_own")
def test_several_workers_share_a_run_and_make_nothing_twice():
    run = make_run(120, model=make_model(sleep_s=0.001), languages=["de", "fr"])

    def work(worker: str) -> None:
        executor.execute_run(run_id=run.pk, worker=worker, clock=lambda: NOW)

    together(work, ["a:1", "b:2", "c:3"])

    check_complete(run)
    assert counts(run) == (240, 0, 240, 0)
    assert run.events.filter(message__startswith="Model ready").values("worker").distinct().count() > 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_several_workers_one_gets_a_chunk():
    run = make_run(20)

    taken = together(lambda name: chunks.claim(run_id=run.pk, worker=name, now=NOW), ["a:1", "b:2", "c:3", "d:4"])

    positions = [claimed[0].position for claimed in taken if claimed]
    assert sorted(positions) == sorted(set(positions))
    # Whoever comes at the moment at which another takes one may be sent away; none is given to two.
    assert 1 <= len(positions) <= 3


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("each_with_a_model_of_its_own")
def test_two_runs_that_make_the_same_captions_at_once_keep_one_of_each():
    collection, model = make_collection(60), make_model(sleep_s=0.001)
    first = make_run(collection, model=model, languages=["de", "fr"])
    Run.objects.filter(pk=first.pk).update(state="paused")
    second = make_run(make_copy(collection), model=model, languages=["de", "fr"])
    Run.objects.filter(pk=first.pk).update(state="queued")

    def work(run: Run) -> None:
        executor.execute_run(run_id=run.pk, worker=f"w:{run.pk}", clock=lambda: NOW)

    together(work, [first, second])

    for run in (first, second):
        check_complete(run)
    assert first.done + second.done == 120 == ModelCaption.objects.count()
    assert first.already + second.already == 120


def make_copy(collection: Any) -> Any:
    copy = make_collection(0)
    for entry in collection.entries.all():
        copy.entries.create(image=entry.image, key=entry.key, position=entry.position)
    return copy


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_another_run_made_meanwhile_is_counted_as_there_already():
    run = make_run(10, languages=["de"])
    image = run.collection.images.order_by("pk").first()
    ModelCaption.objects.create(model=run.model, image=image, language_id="de", text="made elsewhere")

    check_complete(go(run))
    assert counts(run) == (10, 1, 9, 0)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_storing_is_tried_again_where_the_database_was_away_for_a_moment(monkeypatch):
    monkeypatch.setattr(outcome_store, "RETRY_AFTER_S", 0.0)
    run = make_run(8, languages=["de"])
    stored = outcome_store.OutcomeStore.store_once
    fails = iter([True, False, True, False])

    def once_in_a_while(self: Any, claimed: Any, outcomes: Any, **about: Any) -> Any:
        answer = stored(self, claimed, outcomes, **about) if not next(fails, False) else None
        if answer is None:
            raise OperationalError("database is locked")
        return answer

    monkeypatch.setattr(outcome_store.OutcomeStore, "store_once", once_in_a_while)
    check_complete(go(run))
