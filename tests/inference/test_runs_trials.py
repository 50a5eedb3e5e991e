"""Trials, workers that say what they are, and pivot outputs: what stands around runs."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from importlib.metadata import PackageNotFoundError

import pytest
from django.core.files.storage import default_storage
from PIL import Image as Pillow

from images.models import JobState
from images.services.leases import LEASE
from inference.backends.captioners import BackendDownError, Decoding
from inference.models import CaptioningModel, ModelCaption, Stabiliser, Trial, Worker
from inference.rules.pivot import separators_of, split
from inference.services import trials, worker_status
from inference.services.runs import RunRefusedError
from tests.factories import NOW, make_captioner, make_collection, make_language, make_user
from tests.inference.fake_backend import FakeCaptioner
from tests.inference.fake_runs import (
    LATER,
    fake,  # noqa: F401 - for all tests here
    make_model,
    make_run,
    make_translated,
    store_image,
)


def make_trial(model: CaptioningModel, *, tags: Sequence[str] = ("de", "fr"), **about: object) -> Trial:
    values = {"decoding": Decoding(), "by": make_user(), "now": NOW, **about}
    if "upload" not in values:
        values.setdefault("image", make_collection(1).images.get())
    return trials.start(model=model, languages=[make_language(tag) for tag in tags], **values)  # type: ignore[arg-type]


def run(trial: Trial) -> Trial:
    trials.run_trial(trial_id=trial.pk, worker="one:1", clock=lambda: NOW)
    trial.refresh_from_db()
    return trial


@pytest.mark.django_db
def test_a_trial_says_what_the_model_writes_and_stores_no_caption():
    trial = make_trial(make_model())
    assert trials.trials_waiting(now=NOW) == [(trial.pk, "gpu")]
    assert trials.trials_waiting(now=NOW) == [], "told of once in a while"

    run(trial)
    assert (trial.state, trial.worker, trial.finished_at) == (JobState.DONE, "one:1", NOW)
    key = trial.image.sha256[:8]
    assert trial.results == {tag: {"text": f"{tag} caption of {key}", "stabiliser": ""} for tag in ("de", "fr")}
    assert not ModelCaption.objects.exists()
    trial.model.refresh_from_db()
    assert trial.model.decoding == {}, "a trial does not say how the model decodes"


@pytest.mark.django_db
def test_an_image_of_ones_own_is_tried_and_forgotten_after_a_day(media):
    file = io.BytesIO()
    Pillow.new("RGB", (60, 40), "red").save(file, "PNG")
    trial = run(make_trial(make_model(side=20), upload=file, upload_name="red.png"))

    assert (trial.state, trial.image) == (JobState.DONE, None)
    assert default_storage.exists(trial.upload)
    trials.forget_old(now=NOW + timedelta(hours=23))
    assert default_storage.exists(trial.upload)
    trials.forget_old(now=NOW + timedelta(hours=25))
    assert not Trial.objects.exists()
    assert not default_storage.exists(trial.upload)


@pytest.mark.django_db
def test_what_is_no_image_or_no_language_of_the_model_is_refused(media):
    with pytest.raises(RunRefusedError, match="web page"):
        make_trial(make_model("a"), upload=io.BytesIO(b"<html>"), upload_name="a.png")
    with pytest.raises(RunRefusedError, match="no code for"):
        make_trial(make_model("b"), tags=["quz"])
    with pytest.raises(RunRefusedError, match="Choose an image"):
        make_trial(make_model("c"), image=None)
    assert not Trial.objects.exists()


@pytest.mark.django_db
def test_a_trial_that_cannot_be_run_says_why(media, monkeypatch):
    gone = run(make_trial(make_model("a", side=10)))
    assert (gone.state, gone.error) == (JobState.FAILED, "Its file is missing from storage.")
    broken = run(make_trial(make_model("b", source="broken")))
    assert (broken.state, broken.error) == (JobState.FAILED, "Its weights are gone.")

    def go_down(_keys: Sequence[str], _language: str) -> None:
        raise BackendDownError("The endpoint does not answer.")

    monkeypatch.setattr(FakeCaptioner, "before", staticmethod(go_down))
    assert run(make_trial(make_model("c"))).error == "The endpoint does not answer."


@pytest.mark.django_db
def test_a_model_that_breaks_leaves_the_trial_failed_and_not_running(monkeypatch):
    def break_down(_keys: Sequence[str], _language: str) -> None:
        raise RuntimeError("what it shows")

    monkeypatch.setattr(FakeCaptioner, "before", staticmethod(break_down))
    trial = run(make_trial(make_model()))

    assert (trial.state, trial.error) == (JobState.FAILED, "The model failed on it (RuntimeError).")


@pytest.mark.django_db
@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA error: out of memory")])
def test_a_trial_for_which_memory_runs_out_says_so(monkeypatch, error):
    def run_out(_keys: Sequence[str], _language: str) -> None:
        raise error

    monkeypatch.setattr(FakeCaptioner, "before", staticmethod(run_out))

    assert run(make_trial(make_model())).error == "Memory ran out, even for this image by itself."


@pytest.mark.django_db
def test_a_trial_is_resumed_where_its_worker_fell_silent_and_given_up_in_the_end():
    trial = make_trial(make_model())
    assert trials._claim(trial_id=trial.pk, worker="gone:1", now=NOW) is not None
    assert trials._claim(trial_id=trial.pk, worker="two:2", now=NOW) is None
    assert trials.trials_waiting(now=NOW) == []
    assert trials.trials_waiting(now=NOW + LEASE) == [(trial.pk, "gpu")]
    assert trials._claim(trial_id=trial.pk, worker="two:2", now=NOW + LEASE) is not None

    assert trials.trials_waiting(now=LATER + LEASE) == []
    trial.refresh_from_db()
    assert (trial.state, trial.error) == (JobState.FAILED, "No worker finished it.")


@pytest.mark.django_db
def test_a_trial_of_consistent_decoding_holds_one_stabiliser_for_all_languages():
    trial = run(make_trial(make_model(is_pivot=True), decoding=Decoding(is_consistent=True)))

    assert {made["stabiliser"] for made in trial.results.values()} == {f"stabiliser of {trial.image.sha256[:8]}"}
    assert not Stabiliser.objects.exists()


@pytest.mark.django_db
def test_a_translated_model_is_tried_on_the_stored_caption_or_on_one_made_now(media):
    collection = make_collection(1)
    image = collection.images.get()
    imported = make_captioner(collection, name="Imported", text="a cat")
    stored = run(make_trial(make_translated(imported), tags=["de", "en"], image=image))
    words = imported.captions.get().text
    assert {tag: made["text"] for tag, made in stored.results.items()} == {"de": f"de of {words}", "en": words}
    assert trials.queue_of(stored.pk) == "default"

    file = io.BytesIO()
    Pillow.new("RGB", (60, 40)).save(file, "PNG")
    unknown = run(make_trial(imported.translated_models.get(), tags=["de"], upload=file, upload_name="a.png"))
    assert "has no English caption of this image" in unknown.error

    english = make_model("English", side=10)
    store_image(image)
    translator = imported.translated_models.get().translator
    both = CaptioningModel.objects.create(
        is_shared=True, name="Both", backend="translated", english_model=english, translator=translator
    )
    made = run(make_trial(both, tags=["de"], image=image))
    assert made.results["de"]["text"] == f"de of en caption of {image.sha256[:8]}"


@pytest.mark.django_db
def test_a_worker_says_what_it_is_and_is_forgotten_after_a_day(monkeypatch):
    run = make_run(3)
    worker_status.meter.begin(run.pk)
    with worker_status.meter.computing():
        worker_status.meter.note(made=30)
    worker_status.report(worker="host:1", queues=["gpu", "default"], now=NOW)
    worker_status.meter.end()
    row = Worker.objects.get()
    assert (row.queues, row.run, row.started_at, row.seen_at) == ("default,gpu", run, NOW, NOW)
    assert row.rate > 0
    assert 0 < row.device_busy <= 1

    worker_status.report(worker="host:1", queues=["gpu"], now=LATER)
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
    meter = worker_status.Meter()
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
    meter = worker_status.Meter()
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
