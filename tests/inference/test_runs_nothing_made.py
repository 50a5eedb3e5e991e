"""Runs of which nothing comes, and what a researcher sees of why; and who takes which run."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from core.people.models import Role
from research.inference import tasks
from research.inference.models import Run, RunState
from research.inference.rules.capacity import WorkerCapacity
from research.inference.services import executor, worker_status
from tests.clients import client_of
from tests.factories import NOW
from tests.inference.fake_backend import FakeBackend
from tests.inference.fake_runs import (
    before,
    fake,  # noqa: F401 - for all tests here
    go,
    make_model,
    make_run,
    store_image,
)
from tests.inference.watched import make_person, make_worker
from tests.sxs_eval.judged import text_of

pytestmark = pytest.mark.django_db


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
