"""What ends workers is looked for, and only that is left out: not what lay beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from core.jobs.services.leases import LEASE
from research.inference.models import Run
from research.inference.services import chunks, runs, steering
from research.inference.services.executor import CRASH_LIMIT
from tests.factories import NOW
from tests.inference.fake_backend import FakeCaptioner, FakeTranslation
from tests.inference.fake_runs import (
    check_complete,
    counts,
    fake,  # noqa: F401 - for all tests here
    go,
    key_of,
    make_model,
    make_run,
    make_translated,
)
from tests.tiers import some

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """As far as this process goes, what a killed one does: nothing is given back."""


@contextmanager
def killers(monkeypatch: pytest.MonkeyPatch, keys: Sequence[str]) -> Iterator[None]:
    """Whoever has the model look at one of these images is killed."""

    def kill(batch: Sequence[str], _language: str) -> None:
        if set(keys) & set(batch):
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(FakeCaptioner, "before", staticmethod(kill))
        patch.setattr(chunks, "release", lambda _chunk: None)
        yield


def go_on(run: Run, *, workers: int = 40) -> int:
    """Worker after worker; returns how many of them were killed."""
    for killed in range(workers):
        try:
            go(run, at=NOW + killed * 2 * LEASE)
        except Killed:
            continue
        return killed
    pytest.fail(f"{workers} workers were killed: {counts(run)}")


@pytest.mark.parametrize(
    ("images", "positions"),
    some(
        [(8, [3]), (16, [7, 8]), (32, [1]), (32, [4, 16]), (24, [8, 9]), (32, [8])],
        short=2,
        reason="one alone, and one in each of two chunks, are among the first",
    ),
)
def test_of_images_that_end_workers_each_is_left_out_and_no_other(monkeypatch, images: int, positions: list[int]):
    run = make_run(images, model=make_model(batch_size=4), languages=["de"])
    culprits = [key_of(run, position) for position in positions]

    with killers(monkeypatch, culprits):
        killed = go_on(run)

    check_complete(run)
    assert sorted(run.failures.values_list("image__sha256", flat=True)) == sorted(culprits)
    assert counts(run) == (images, 0, images - len(culprits), len(culprits))
    assert all("crashed every time" in reason for reason in run.failures.values_list("reason", flat=True))
    assert killed <= 6 * len(culprits)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_chunk_in_which_an_image_is_looked_for_is_alone_assigned(monkeypatch):
    run = make_run(24, model=make_model(batch_size=4), languages=["de"])
    run.chunks.filter(position=1).update(attempts=2)
    assigned: list[set[int]] = []
    claim = chunks.claim

    def noting(**about: Any) -> Any:
        claimed = claim(**about)
        assigned.append(set(run.chunks.filter(state="running").values_list("position", flat=True)))
        return claimed

    monkeypatch.setattr(chunks, "claim", noting)
    check_complete(go(run))
    assert assigned[0] == {1}
    assert assigned[1:3] == [{2}, {2, 3}]


def break_on(monkeypatch: pytest.MonkeyPatch, keys: Sequence[str], *, and_all_after: bool = False) -> None:
    broke: list[str] = []

    def fail(batch: Sequence[str], _language: str) -> None:
        if set(keys) & set(batch) or (and_all_after and broke):
            broke.extend(batch)
            raise ValueError

    monkeypatch.setattr(FakeCaptioner, "before", staticmethod(fail))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_many_neighbours_that_the_model_cannot_take_do_not_end_the_run(monkeypatch):
    run = make_run(40, model=make_model(batch_size=4), languages=["de", "fr"])
    culprits = [key_of(run, position) for position in range(6, 26)]
    break_on(monkeypatch, culprits)

    check_complete(go(run))
    assert counts(run) == (80, 0, 40, 40)
    assert set(run.failures.values_list("image__sha256", flat=True)) == set(culprits)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_model_that_stops_working_ends_the_run_and_no_image_is_blamed_for_it(monkeypatch):
    run = make_run(40, model=make_model(batch_size=4), languages=["de"])
    with monkeypatch.context() as patch:
        break_on(patch, [key_of(run, 17)], and_all_after=True)
        go(run)
    assert (run.state, "on every image" in run.error) == ("failed", True)
    assert run.done == 16

    steering.resume(run, now=NOW)
    go(run)
    assert run.state == "done"
    assert run.done + run.failed == 40
    assert run.failed < CRASH_LIMIT


def test_a_run_that_begins_with_broken_images_goes_on_to_the_others(monkeypatch):
    number = CRASH_LIMIT + 4
    run = make_run(number, model=make_model(batch_size=4), languages=["de"])
    culprits = [key_of(run, position) for position in range(1, CRASH_LIMIT + 2)]
    break_on(monkeypatch, culprits)

    check_complete(go(run))

    assert counts(run) == (number, 0, number - len(culprits), len(culprits))
    assert set(run.failures.values_list("image__sha256", flat=True)) == set(culprits)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_model_that_takes_no_image_is_not_asked_for_all_of_them(monkeypatch):
    run = make_run(200, model=make_model(batch_size=4), languages=["de"])
    asked: set[str] = set()

    def fail(batch: Sequence[str], _language: str) -> None:
        asked.update(batch)
        raise ValueError

    monkeypatch.setattr(FakeCaptioner, "before", staticmethod(fail))
    go(run)

    assert (run.state, "on every image" in run.error) == ("failed", True)
    assert not run.failures.exists()
    assert len(asked) <= 3 * CRASH_LIMIT


def retried_in_vain(run: Run, culprits: Sequence[str]) -> None:
    check_complete(go(run))
    assert counts(run) == (32, 0, 16, 16)

    assert runs.retry(run=run, now=NOW) == 16
    check_complete(go(run))

    assert counts(run) == (32, 0, 16, 16)
    assert set(run.failures.values_list("image__sha256", flat=True)) == set(culprits)


def test_a_retry_of_nothing_but_broken_images_asks_for_one_that_was_made_before(monkeypatch):
    run = make_run(32, model=make_model(batch_size=4), languages=["de"])
    culprits = [key_of(run, position) for position in range(33 - 2 * CRASH_LIMIT, 33)]
    break_on(monkeypatch, culprits)

    retried_in_vain(run, culprits)


def test_a_retry_of_nothing_but_broken_translations_does_so_too(monkeypatch):
    english = make_model(batch_size=4)
    collection = go(make_run(32, model=english, languages=["en"])).collection
    run = make_run(collection, model=make_translated(english), languages=["de"])
    culprits = [key_of(run, position) for position in range(33 - 2 * CRASH_LIMIT, 33)]
    translate = FakeTranslation.translate

    def fail(self: FakeTranslation, texts: Sequence[str], *, keys: Sequence[str], **about: Any) -> Any:
        if set(keys) & set(culprits):
            raise ValueError
        return translate(self, texts, keys=keys, **about)

    monkeypatch.setattr(FakeTranslation, "translate", fail)

    retried_in_vain(run, culprits)


def test_a_retry_with_a_model_that_works_no_more_blames_no_image(monkeypatch):
    run = make_run(32, model=make_model(batch_size=4), languages=["de"])
    culprits = [key_of(run, position) for position in range(33 - 2 * CRASH_LIMIT, 33)]
    with monkeypatch.context() as patch:
        break_on(patch, culprits)
        go(run)
    everything = [key_of(run, position) for position in range(1, 33)]
    break_on(monkeypatch, everything)

    runs.retry(run=run, now=NOW)
    go(run)

    assert (run.state, "on every image" in run.error) == ("failed", True)
    assert not run.failures.exists()
