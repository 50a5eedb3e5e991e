"""Runs whose workers have little time, take long to load a model, or cannot load it: each goes on, or says why not."""

from __future__ import annotations

import time
from typing import Any

import pytest

from core.jobs.services import leases
from research.inference.backends.captioners import OutOfMemoryError
from research.inference.models import Run, RunState
from research.inference.selectors.embeddings import EmbeddingsUnavailableError
from research.inference.services import chunks, embedding, executor, model_cache, runs, steering
from research.inference.services.captioning import CaptioningJob
from tests.factories import NOW, make_collection
from tests.inference import embedded
from tests.inference.fake_backend import FakeBackend, FakeCaptioner
from tests.inference.fake_runs import (
    check_complete,
    counts,
    fake,  # noqa: F401 - for all tests here
    go,
    log_of,
    make_model,
    make_run,
)

pytestmark = pytest.mark.django_db

ENOUGH = 60


def slices(run: Run, *, slice_s: float) -> int:
    """How many slices it takes, of which each begins with nothing in memory."""
    for count in range(1, ENOUGH):
        model_cache.clear()
        if not executor.execute_run(run_id=run.pk, worker="one:1", clock=lambda: NOW, slice_s=slice_s):
            return count
    pytest.fail(f"not done in {ENOUGH} slices: {counts(run)}")


def begin_vectors(monkeypatch: pytest.MonkeyPatch, *, images: int, batch_size: int, batch_s: float = 0.0) -> Run:
    embedded.offer(monkeypatch)
    features_of = embedded.MeanColours.features_of
    monkeypatch.setattr(embedded.MeanColours, "batch_size", batch_size)

    def slow(self: Any, prepared: Any) -> Any:
        time.sleep(batch_s)
        return features_of(self, prepared)

    monkeypatch.setattr(embedded.MeanColours, "features_of", slow)
    return embedded.begin(embedded.make_encoder(), embedded.painted_collection(images))


@pytest.mark.usefixtures("media")
def test_vectors_of_a_chunk_that_takes_longer_than_a_slice_come_to_an_end(monkeypatch):
    run = begin_vectors(monkeypatch, images=8, batch_size=1, batch_s=0.02)

    assert run.chunks.count() == 1
    assert slices(run, slice_s=0.05) >= 3
    run.refresh_from_db()
    assert (run.state, counts(run)) == (RunState.DONE, (8, 0, 8, 0))
    assert run.embeddings.rows == 8


@pytest.mark.usefixtures("media")
def test_vectors_that_are_paused_are_so_within_a_batch_and_keep_what_was_computed(monkeypatch):
    run = begin_vectors(monkeypatch, images=8, batch_size=1)
    monkeypatch.setattr(executor, "STORE_EVERY_S", 0.0)
    features_of = embedded.MeanColours.features_of
    computed: list[int] = []

    def noting(self: Any, prepared: Any) -> Any:
        computed.append(len(prepared))
        return features_of(self, prepared)

    monkeypatch.setattr(embedded.MeanColours, "features_of", noting)
    stored = executor.Executor._store

    def pausing(self: Any, claimed: Any) -> None:
        if len(computed) >= 2 and self.run.state != RunState.PAUSED:
            steering.pause(self.run, now=NOW)
        stored(self, claimed)

    monkeypatch.setattr(executor.Executor, "_store", pausing)
    go(run)

    assert run.state == RunState.PAUSED
    assert sum(computed) <= 4
    assert run.done == sum(computed)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_runs_that_take_turns_on_a_worker_do_not_only_load_their_models(monkeypatch):
    load = FakeBackend.load

    def slow(self: Any, spec: Any) -> FakeCaptioner:
        time.sleep(0.05)
        return load(self, spec)

    monkeypatch.setattr(FakeBackend, "load", slow)
    run = make_run(20, model=make_model(batch_size=4, sleep_s=0.001), languages=["de"])

    assert slices(run, slice_s=0.01) <= 6
    check_complete(run)


def test_even_the_shortest_slice_brings_a_run_on():
    run = make_run(20, model=make_model(batch_size=4), languages=["de", "fr"])

    assert slices(run, slice_s=0.0) > 1
    check_complete(run)


@pytest.mark.parametrize("error", [OutOfMemoryError(), OSError("/srv/models: no such device")])
def test_a_model_whose_loading_breaks_ends_the_run_with_a_reason(monkeypatch, error):
    def break_down(_self: Any, _spec: Any) -> FakeCaptioner:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(FakeBackend, "load", break_down)
        run = go(make_run(4))
    assert run.state == RunState.FAILED
    assert f"cannot be loaded ({type(error).__name__})" in run.error
    assert run.error in log_of(run)

    steering.resume(run, now=NOW)
    check_complete(go(run))


def test_a_chunk_that_could_not_be_looked_at_is_returned(monkeypatch):
    run = make_run(4)

    def break_down(_self: Any, _chunk: Any) -> Any:
        raise OSError("the disk is away")

    with monkeypatch.context() as patch:
        patch.setattr(CaptioningJob, "pending", break_down)
        with pytest.raises(OSError, match="is away"):
            go(run)
    assert not run.chunks.exclude(state="queued").exists()
    assert not run.chunks.exclude(attempts=0).exists()
    assert chunks.claimable_chunks(now=NOW).filter(run=run).exists()


@pytest.mark.usefixtures("media")
def test_a_run_whose_vectors_are_gone_from_storage_says_so(monkeypatch):
    run = begin_vectors(monkeypatch, images=8, batch_size=4)

    def gone(*_about: Any) -> Any:
        raise EmbeddingsUnavailableError("Its file is missing from storage.")

    monkeypatch.setattr(embedding, "ids_stored", gone)
    go(run)

    assert (run.state, run.error) == (RunState.FAILED, "Its file is missing from storage.")


def test_images_of_which_each_is_too_large_end_the_run_and_not_the_images():
    run = go(make_run(30, model=make_model(batch_size=8, fits=0), languages=["de"]))

    assert run.state == RunState.FAILED
    assert "on every image" in run.error
    assert "Memory ran out" in run.error
    assert counts(run) == (30, 0, 0, 0)


def test_a_batch_for_which_memory_runs_out_in_the_backends_own_words_is_halved_and_the_size_kept(monkeypatch):
    run = make_run(make_collection(16), model=make_model(batch_size=8), languages=["de"])
    sizes: list[int] = []

    def fits(keys: Any, _language: str) -> None:
        sizes.append(len(keys))
        if len(keys) > 2:
            raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(FakeCaptioner, "before", staticmethod(fits))
    check_complete(go(run))

    assert 1 not in sizes
    assert run.batch_size == 2
    assert "From here on, batches have 2 images." in log_of(run)


def test_one_image_that_is_too_large_does_not_make_the_batches_of_all_others_small(monkeypatch):
    run = make_run(make_collection(24), model=make_model(batch_size=8), languages=["de"])
    large = str(run.collection.entries.get(position=10).image.sha256)
    sizes: list[int] = []

    def fits(keys: Any, _language: str) -> None:
        if large in keys:
            raise OutOfMemoryError
        sizes.append(len(keys))

    monkeypatch.setattr(FakeCaptioner, "before", staticmethod(fits))
    check_complete(go(run))

    assert counts(run) == (24, 0, 23, 1)
    assert run.failures.get().image.sha256 == large
    assert sizes[-1] == 8
    assert run.batch_size == 8


def test_of_very_many_runs_a_sweep_tells_of_some_and_each_has_its_turn(monkeypatch):
    monkeypatch.setattr(runs, "NOTIFIED_AT_ONCE", 2)
    collection = make_collection(8)
    waiting = [make_run(collection, model=make_model(f"Model {number}"), languages=["de"]) for number in range(5)]
    # Nothing is to be told of the first: another worker has all of it.
    waiting[0].chunks.update(state="running", lease_until=NOW + leases.LEASE)
    told = [[run_id for run_id, _queue, _wanted in runs.runs_waiting(now=NOW)] for _ in range(3)]

    assert told == [[run.pk for run in waiting[1:3]], [run.pk for run in waiting[3:]], []]
    after = NOW + chunks.NUDGE_AFTER
    assert [run_id for run_id, _queue, _wanted in runs.runs_waiting(now=after)] == [waiting[0].pk, waiting[1].pk]
