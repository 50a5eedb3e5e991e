"""Trials, workers that say what they are, and pivot outputs: what stands around runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from core.jobs.services.leases import LEASE
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel, ModelCaption, Run, RunState, Stabiliser, Worker
from research.inference.rules.captions import separators_of, split
from research.inference.services import chunks, runs, worker_status
from research.inference.services.steering import WorkRefusedError
from tests.factories import NOW, make_captioner, make_collection, make_language, make_user
from tests.inference.fake_runs import (
    LATER,
    before,
    check_complete,
    counts,
    fake,  # noqa: F401 - for all tests here
    go,
    make_model,
    make_run,
    make_translated,
)


def make_trial(model: CaptioningModel, *, tags: Sequence[str] = ("de", "fr"), **about: Any) -> Run:
    collection = about.pop("collection", None) or make_collection(1)
    values: dict[str, Any] = {"decoding": Decoding(), "by": make_user(), "now": NOW, **about}
    languages = [make_language(tag) for tag in tags]
    return runs.start_trial(
        model=model, image=collection.images.get(), collection=collection, languages=languages, **values
    )


@pytest.mark.django_db
def test_a_trial_says_what_the_model_writes_and_stores_no_caption():
    trial = make_trial(make_model())
    assert runs.runs_waiting(now=NOW) == [(trial.pk, "gpu", 1)]

    go(trial)
    assert (trial.state, counts(trial)) == (RunState.DONE, (2, 0, 2, 0))
    key = trial.trial_image.sha256[:8]
    assert trial.trial_captions == {tag: {"text": f"{tag} caption of {key}", "stabiliser": ""} for tag in ("de", "fr")}
    assert not ModelCaption.objects.exists()
    trial.model.refresh_from_db()
    assert trial.model.decoding == {}, "a trial does not say how the model decodes"


@pytest.mark.django_db
def test_a_trial_keeps_no_run_over_its_collection_from_starting_nor_the_run_its_captions():
    trial = make_trial(make_model())
    check_complete(go(make_run(trial.collection, model=trial.model)))
    assert len(go(trial).trial_captions) == 2, "stored captions are made anew"


@pytest.mark.django_db
def test_a_trial_goes_on_with_the_languages_that_it_lacks(monkeypatch):
    def fail_once(_keys: Sequence[str], language: str) -> None:
        if language == "fr":
            raise RuntimeError("broken")

    trial = make_trial(make_model())
    before(monkeypatch, fail_once)
    assert counts(go(trial)) == (2, 0, 1, 1)
    made: list[str] = []
    before(monkeypatch, lambda _keys, language: made.append(language))
    runs.retry(run=trial, now=NOW)
    assert (counts(go(trial)), made, sorted(trial.trial_captions)) == ((2, 0, 2, 0), ["fr"], ["de", "fr"])


@pytest.mark.django_db
def test_a_trial_is_deleted_after_a_day_unless_a_worker_is_at_it():
    trial, day = make_trial(make_model()), timedelta(days=1)
    runs.delete_old_trials(now=NOW + day)
    assert Run.objects.filter(pk=trial.pk).exists()
    late = NOW + day + timedelta(hours=1)
    assert chunks.claim(run_id=trial.pk, worker="one:1", now=late) is not None
    runs.delete_old_trials(now=late)
    assert Run.objects.filter(pk=trial.pk).exists()
    make_run(1, model=trial.model)
    runs.delete_old_trials(now=late + LEASE)
    assert not Run.objects.exclude(trial_image=None).exists()
    assert Run.objects.count() == 1, "other runs stay"


@pytest.mark.django_db
def test_a_trial_belongs_to_one_person_for_good():
    trial = make_trial(make_model())
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.filter(pk=trial.pk).update(is_shared=True)


@pytest.mark.django_db
def test_a_language_that_the_model_does_not_write_is_refused():
    with pytest.raises(WorkRefusedError, match="no code for"):
        make_trial(make_model(), tags=["quz"])
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_a_trial_of_consistent_decoding_holds_one_stabiliser_for_all_languages():
    trial = go(make_trial(make_model(is_pivot=True), decoding=Decoding(is_consistent=True)))

    expected = {f"stabiliser of {trial.trial_image.sha256[:8]}"}
    assert {made["stabiliser"] for made in trial.trial_captions.values()} == expected
    assert not Stabiliser.objects.exists()


@pytest.mark.django_db
def test_a_translated_model_is_tried_on_the_stored_caption_of_its_english_model():
    collection = make_collection(1)
    imported = make_captioner(collection, name="Imported", text="a cat")
    model = make_translated(imported)
    stored = go(make_trial(model, tags=["de", "en"], collection=collection))
    words = imported.captions.get().text
    assert {tag: made["text"] for tag, made in stored.trial_captions.items()} == {"de": f"de of {words}", "en": words}

    lacking = go(make_trial(model, tags=["de"]))
    assert lacking.state == RunState.FAILED
    assert "has no English caption of it" in lacking.failures.get().reason


@pytest.mark.django_db
def test_a_worker_says_what_it_is_and_is_forgotten_after_a_day(monkeypatch):
    run = make_run(3)
    worker_status.meter.begin(run.pk)
    with worker_status.meter.computing():
        worker_status.meter.note(made=30)
    worker_status.report_worker(worker="host:1", queues=["gpu", "default"], now=NOW)
    worker_status.meter.end()
    row = Worker.objects.get()
    assert (row.queues, row.run, row.started_at, row.seen_at) == ("default,gpu", run, NOW, NOW)
    assert row.rate > 0
    assert 0 < row.device_busy <= 1

    worker_status.report_worker(worker="host:1", queues=["gpu"], now=LATER)
    row.refresh_from_db()
    assert (row.run, row.rate, row.started_at, row.seen_at) == (None, None, NOW, LATER)
    assert worker_status.count_listening(queue="gpu", now=LATER) == 1
    assert worker_status.count_listening(queue="default", now=LATER) == 0

    assert worker_status.delete_silent(now=LATER + timedelta(hours=23)) == 0
    assert worker_status.delete_silent(now=LATER + timedelta(hours=25)) == 1


def test_what_is_not_installed_is_said_and_nothing_is_imported_to_find_out(monkeypatch):
    installed = {"torch": "2.13.0", "transformers": "5.23.0"}

    def version(name: str) -> str:
        if name not in installed:
            raise PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(worker_status, "version", version)
    assert worker_status.software() == "PyTorch 2.13.0, transformers 5.23.0"
    del installed["transformers"]
    assert worker_status.software() == "PyTorch 2.13.0"
    del installed["torch"]
    assert worker_status.software() == "no PyTorch"
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert worker_status._device()[0].startswith("CPU")
    assert "torch" not in sys.modules


def test_the_rate_is_that_of_the_last_minute(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    meter = worker_status.WorkMeter()
    assert meter.figures() == (None, None)
    meter.begin(1)
    now[0] += 5
    with meter.computing():
        now[0] += 2.5
        assert meter.figures() == pytest.approx((0.0, 1 / 3)), "of a batch that is not there yet"
        now[0] += 2.5
    meter.note(made=50)
    assert meter.figures() == (5.0, 0.5)
    now[0] += 25
    with meter.computing():
        now[0] += 30
    meter.note(made=60)
    assert meter.figures() == pytest.approx((110 / 60, 35 / 60))
    now[0] += 55
    assert meter.figures() == pytest.approx((1.0, 5 / 60)), "what is a minute ago counts no more"
    meter.begin(2)
    now[0] += 1
    assert meter.figures() == (0.0, 0.0)


def test_a_beat_is_due_every_quarter_of_a_minute_and_soon_where_there_is_news(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    meter = worker_status.WorkMeter()
    assert meter.is_due()
    assert not meter.is_due()
    now[0] += 14
    assert not meter.is_due()
    meter.begin(1)
    assert meter.is_due()
    now[0] += 14
    assert not meter.is_due()
    now[0] += 1
    assert meter.is_due()


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("a dog on grass <de> Ein Hund im Gras", ("a dog on grass", "Ein Hund im Gras")),
        ("a dog<de>Ein Hund", ("a dog", "Ein Hund")),
        ("a dog <de> Ein <de> Hund", ("a dog", "Ein <de> Hund")),
        ("a dog", None),
        ("<de> Ein Hund", None),
        ("a dog <de> ", None),
        ("a dog <fr> Un chien", None),
        ("", None),
    ],
)
def test_an_output_is_split_at_its_first_separator(output, expected):
    assert split(output, " <de> ") == expected


def test_separators_are_those_of_the_options_or_the_models_own_codes():
    codes = {"de": "deu_Latn", "fr": "fra_Latn"}
    assert separators_of({}, codes) == {"de": " <deu_Latn> ", "fr": " <fra_Latn> "}
    assert separators_of({"separators": {"fr": " | "}}, codes) == {"de": " <deu_Latn> ", "fr": " | "}
