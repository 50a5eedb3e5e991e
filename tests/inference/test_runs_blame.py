"""What ends workers is looked for, and only that is left out; runs of which nothing comes, and who takes which run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.urls import reverse

from core.jobs.services.leases import LEASE
from core.people.models import Role
from research.inference import tasks
from research.inference.models import Run, RunState
from research.inference.rules.capacity import WorkerCapacity
from research.inference.services import chunks, executor, runs, steering, worker_status
from research.inference.services.crash_blame import CRASH_LIMIT
from tests.clients import client_of
from tests.factories import NOW
from tests.inference.fake_backend import FakeBackend, FakeCaptioner, FakeTranslation
from tests.inference.fake_runs import (
    before,
    check_complete,
    counts,
    fake,  # noqa: F401 - for all tests here
    go,
    key_of,
    make_model,
    make_run,
    make_translated,
    store_image,
)
from tests.inference.watched import make_person, make_worker
from tests.sxs_eval.judged import text_of
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


def seen_by_researcher(run: Run, name: str = "run-show") -> str:
    client = client_of(make_person(Role.RESEARCHER))
    return text_of(client.get(reverse(f"inference:{name}", args=[run.pk] if name == "run-show" else [])))


def test_a_run_that_failed_on_every_image_has_failed_and_is_not_done(media):
    run = go(make_run(5, model=make_model(side=32)))

    assert (run.state, run.failed, run.done) == (RunState.FAILED, 10, 0)
    assert (run.percent, run.processed, run.can_resume, run.can_retry) == (0, 0, False, True)
    text = seen_by_researcher(run)
    assert "Nothing was made, because every image failed." in text
    assert "0 of 10, 0%" in text
    assert "Done" not in text
    assert "100%" not in text


def test_a_run_of_which_some_images_failed_is_done(media):
    run = make_run(5, model=make_model(side=32), languages=["de"])
    store_image(run.collection.entries.first().image)

    go(run)

    assert (run.state, run.failed, run.done, run.error) == (RunState.DONE, 4, 1, "")
    assert run.percent == 100


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_run_of_which_only_broken_images_were_left_is_done(media):
    first = make_run(5, model=make_model(side=32), languages=["de"])
    for entry in first.collection.entries.all()[1:]:
        store_image(entry.image)
    go(first)

    again = go(make_run(first.collection, model=first.model, languages=["de"]))

    assert (again.state, again.already, again.done, again.failed, again.error) == (RunState.DONE, 4, 0, 1, "")
    assert again.percent == 100


@pytest.mark.long(reason="at least three others run each of its lines")
def test_while_a_worker_loads_the_model_nobody_is_waited_for():
    run = make_run(5)
    assert "Waiting for a worker" in seen_by_researcher(run)

    make_worker(run=run)

    for name in ("run-show", "run-list"):
        text = seen_by_researcher(run, name)
        assert "Loading the model" in text
        assert "Waiting for a worker" not in text


def test_the_traceback_of_a_model_that_cannot_be_loaded_is_in_the_log(monkeypatch):
    def load(self: FakeBackend, spec: Any) -> Any:
        raise RuntimeError("size mismatch for layer 3")

    monkeypatch.setattr(FakeBackend, "load", load)
    run = go(make_run(5))

    text = seen_by_researcher(run)
    assert "The model cannot be loaded (RuntimeError). The log below has the traceback." in text
    assert "in load" in text
    assert "RuntimeError: size mismatch for layer 3" in text


def test_the_traceback_of_a_model_that_fails_with_each_image_is_there_without_its_message(monkeypatch):
    """The message may have the caption's words in it, which no log ever has."""

    def fail(keys: Any, language: str) -> None:
        raise ValueError("said: a dog runs")

    before(monkeypatch, fail)
    run = go(make_run(5))

    text = seen_by_researcher(run)
    assert "The model failed on every image." in text
    assert "in fail raise ValueError" in text
    assert "ValueError" in run.events.last().traceback.splitlines()[-1]
    assert not any("said: a dog runs" in event.message for event in run.events.all())


class TestRouting:
    @pytest.fixture(autouse=True)
    def _here_is_no_pytorch(self, monkeypatch):
        monkeypatch.setattr(worker_status, "own_capacity", WorkerCapacity)
        monkeypatch.setattr(FakeBackend, "needs", ("torch",), raising=False)

    @pytest.fixture
    def expiries(self) -> list[Any]:
        """Of what was sent."""
        return []

    @pytest.fixture
    def sent(self, monkeypatch, expiries) -> list[tuple[Any, ...]]:
        sent: list[tuple[Any, ...]] = []

        def send(args: Any, **about: Any) -> None:
            sent.append((*args, about["queue"]))
            expiries.append(about["expires"])

        monkeypatch.setattr(tasks.work_on, "apply_async", send)
        return sent

    @pytest.fixture
    def with_pytorch(self) -> None:
        """A worker that has it listens."""
        make_worker(queues="gpu", software="PyTorch 2.13.0")

    @pytest.fixture
    def worked(self, monkeypatch) -> list[int]:
        worked: list[int] = []
        monkeypatch.setattr(executor, "execute_run", lambda *, run_id, **_about: worked.append(run_id))
        return worked

    @pytest.mark.parametrize(
        ("worker", "is_handed_on"),
        [
            ({"queues": "gpu", "software": "PyTorch 2.13.0"}, True),
            ({"queues": "default,gpu", "software": "PyTorch 2.13.0"}, True),
            ({"queues": "gpu", "software": "no PyTorch"}, False),
            ({"queues": "default", "software": "PyTorch 2.13.0"}, False),
            ({"queues": "gpu", "software": "PyTorch 2.13.0", "seen_at": NOW}, False),
            (None, False),
        ],
    )
    def test_a_run_goes_to_a_worker_with_pytorch_while_one_listens(self, sent, worked, worker, is_handed_on):
        run = make_run(5)
        if worker:
            make_worker(**worker)

        tasks.work_on(run.pk)

        assert (sent, worked) == (([(run.pk, "gpu")], []) if is_handed_on else ([], [run.pk]))

    def test_what_is_handed_on_expires_when_it_would_have(self, with_pytorch, sent, expiries, worked):
        run = make_run(5)
        for expires in ("2026-01-01T12:00:00+00:00", None):
            tasks.work_on.push_request(expires=expires)
            tasks.work_on.run(run.pk)
            tasks.work_on.pop_request()
        assert (expiries, worked) == (["2026-01-01T12:00:00+00:00", tasks.MESSAGE_LIFETIME_S], [])

    @pytest.mark.parametrize("state", [RunState.PAUSED, RunState.DONE, RunState.FAILED, RunState.CANCELLED])
    def test_a_run_that_does_not_go_on_is_handed_to_nobody(self, with_pytorch, sent, state):
        run = make_run(5)
        Run.objects.filter(pk=run.pk).update(state=state)
        tasks.work_on(run.pk)
        assert sent == []

    def test_a_run_that_needs_none_is_taken(self, with_pytorch, sent, worked, monkeypatch):
        monkeypatch.setattr(FakeBackend, "needs", ())
        run = make_run(5)
        tasks.work_on(run.pk)
        assert (sent, worked) == ([], [run.pk])

    def test_a_run_that_is_gone_is_nobodys(self, sent, worked):
        tasks.work_on(10**6)
        assert (sent, worked) == ([], [10**6])
