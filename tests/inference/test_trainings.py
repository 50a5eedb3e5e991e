"""Trainings by workers: the same losses whatever is paused, lost or killed, and a model in the end."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from core.images.models import Image
from core.images.services import file_storage
from core.jobs.services import leases
from research.inference.models import CaptioningModel, ModelCaption, RunState, Training
from research.inference.services import steering, training_worker, trainings
from research.inference.services.steering import WorkRefusedError
from research.inference.training import trainer
from tests.factories import make_captioner, make_project
from tests.inference.embedded import painted_collection
from tests.inference.fake_runs import begin, go
from tests.inference.trained import OPTIONS, examples_of, losses, make_training, work
from tests.torch_extra import needs_torch

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "smaller"), needs_torch]


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.TRAININGS_FOLDER = tmp_path / "trainings"
    return tmp_path / "trainings"


def at_step(monkeypatch: pytest.MonkeyPatch, step: int, does: Any) -> None:
    """Have `does` called in the computing thread after a step, once it is reported."""
    original = training_worker._ReportingWatcher.stepped

    def stepped(self: Any, record: Any) -> None:
        original(self, record)
        if record.step == step:
            does(self)

    monkeypatch.setattr(training_worker._ReportingWatcher, "stepped", stepped)


def test_a_training_makes_a_model_that_runs():
    collection = painted_collection(6)
    training = make_training(examples=examples_of(collection), options=replace(OPTIONS, learning_rate=1e-2))

    assert not work(training)

    assert (training.state, training.error, training.step) == (RunState.DONE, "", 6)
    assert [step for step, _loss in losses(training)] == [1, 2, 3, 4, 5, 6]
    assert list(training.validations.values_list("step", flat=True)) == [0, 3, 6]
    assert [len(one.samples) for one in training.validations.all()] == [1, 1, 1]
    assert training.holder == ""
    assert training.made["data"] == training.digest
    model = training.model
    assert (model.name, model.project, model.backend) == ("Trained", training.project, "encoder-decoder")
    assert model.options["languages"] == {"en": "en"}
    assert "# Trained" in training.card
    assert training.digest in training.card
    run = go(begin(model, collection, "en", max_tokens=6))
    assert run.state == RunState.DONE, run.error
    assert ModelCaption.objects.filter(model=model).count() == 6
    # What only resuming needs is gone.
    assert sorted(path.name for path in trainings.folder_of(training).iterdir()) == ["base", "curve.jsonl", "model"]


def test_a_training_in_slices_has_the_losses_of_one_in_a_piece(monkeypatch):
    examples, options = examples_of(painted_collection(6)), replace(OPTIONS, steps=4, validate_every=2)
    whole, sliced = (make_training(examples=examples, options=options, name=name) for name in ("Whole", "Sliced"))
    work(whole)
    # Each slice is over after its first step.
    monkeypatch.setattr(training_worker._ReportingWatcher, "begin", lambda self, **_about: setattr(self, "_ends_at", 0))

    slices = 1
    while work(sliced, worker=f"one:{slices}"):
        assert sliced.state == RunState.QUEUED
        slices += 1

    assert sliced.state == RunState.DONE
    assert slices >= 3
    assert losses(sliced) == losses(whole)
    ciders = [list(one.validations.values_list("step", "cider", "loss")) for one in (sliced, whole)]
    assert ciders[0] == ciders[1]
    assert sliced.best_step == whole.best_step


def test_a_paused_training_saves_and_is_resumed_by_another_worker_with_the_same_losses(monkeypatch):
    examples = examples_of(painted_collection(6))
    whole, paused = (make_training(examples=examples, name=name) for name in ("Whole", "Paused"))
    work(whole)

    def pause(watcher: Any) -> None:
        # As the thread with the database notices it.
        watcher.stop.set()

    at_step(monkeypatch, 4, pause)
    monkeypatch.setattr(
        training_worker._TrainingSlice,
        "_release",
        paused_release(paused, training_worker._TrainingSlice._release),
    )
    assert not work(paused)
    assert (paused.state, paused.holder, paused.step) == (RunState.PAUSED, "", 4)
    assert not work(paused), "a paused training is not worked on"
    monkeypatch.undo()
    monkeypatch.setattr("django.conf.settings.TRAININGS_FOLDER", trainings.folder_of(whole).parent)
    steering.resume(paused, now=timezone.now())
    assert paused.state == RunState.QUEUED

    work(paused, worker="two:2")

    assert paused.state == RunState.DONE
    assert losses(paused) == losses(whole)
    assert "Resumed after step 4." in paused.events.values_list("message", flat=True)


def paused_release(training: Training, release: Any) -> Any:
    def released(self: Any) -> bool:
        steering.pause(training, now=timezone.now())
        return bool(release(self))

    return released


def test_a_worker_that_lost_its_lease_saves_nothing(monkeypatch):
    training = make_training()

    def take_over(self: Any) -> None:
        Training.objects.filter(pk=training.pk).update(
            holder="two:2", lease_until=timezone.now() + timedelta(minutes=1)
        )
        original(self)

    original = training_worker._TrainingSlice._report
    monkeypatch.setattr(training_worker._TrainingSlice, "_report", take_over)

    assert not work(training)

    assert (training.state, training.holder) == (RunState.RUNNING, "two:2")
    assert losses(training) == []
    assert not CaptioningModel.objects.filter(name="Trained").exists()


def test_a_worker_that_could_not_renew_its_lease_saves_nothing_either(monkeypatch):
    training = make_training()
    at_step(monkeypatch, 2, lambda watcher: setattr(watcher, "renewed_at", -math.inf))

    assert not work(training)

    assert training.state == RunState.RUNNING
    assert not list(trainings.folder_of(training).glob("last*"))


def test_what_was_reported_after_the_last_checkpoint_is_told_again_after_a_crash(monkeypatch):
    examples = examples_of(painted_collection(6))
    whole, crashed = (make_training(examples=examples, name=name) for name in ("Whole", "Crashed"))
    work(whole)

    class Killed(BaseException):
        pass

    def kill(_watcher: Any) -> None:
        raise Killed

    at_step(monkeypatch, 5, kill)
    with pytest.raises(Killed):
        work(crashed)
    crashed.refresh_from_db()
    assert crashed.state == RunState.RUNNING
    monkeypatch.undo()
    monkeypatch.setattr("django.conf.settings.TRAININGS_FOLDER", trainings.folder_of(whole).parent)
    assert not work(crashed, worker="two:2"), "its lease still lasts"
    assert leases.rows_to_nudge(Training.objects.all(), now=timezone.now()) == []
    assert leases.rows_to_nudge(Training.objects.all(), now=timezone.now() + timedelta(minutes=2)) == [crashed.pk]

    work(crashed, worker="two:2", later_s=120)

    assert crashed.state == RunState.DONE
    assert losses(crashed) == losses(whole)
    assert "Resumed after step 3." in crashed.events.values_list("message", flat=True)


def test_a_training_that_always_ends_its_worker_is_not_tried_for_ever():
    training = make_training()
    Training.objects.filter(pk=training.pk).update(attempts=training_worker.ATTEMPTS)

    work(training)

    assert training.state == RunState.FAILED
    assert training.error.startswith("The worker stopped 3 times without reaching a checkpoint.")


def test_a_loss_that_is_no_number_keeps_the_best_model_and_says_so(monkeypatch):
    training = make_training()
    stepped = trainer._CaptionerTrainer._stepped

    def diverging(self: Any, step: int) -> Any:
        if step == 5:
            raise FloatingPointError
        return stepped(self, step)

    monkeypatch.setattr(trainer._CaptionerTrainer, "_stepped", diverging)

    work(training)

    assert training.state == RunState.FAILED
    assert training.error.startswith("The loss of step 5 was not a number")
    assert training.model is not None
    assert training.best_step == 3


def test_a_failure_of_our_own_leaves_a_traceback_without_words(monkeypatch):
    training, words = make_training(), "picture number 1"

    def fail(*_arguments: Any, **_about: Any) -> Any:
        raise ValueError(words)

    monkeypatch.setattr(training_worker, "train_captioner", fail)

    work(training)

    assert training.error == "The training failed (ValueError). The log below has the traceback."
    event = training.events.latest("pk")
    assert "test_trainings.py" in event.traceback
    assert words not in event.traceback


@pytest.mark.parametrize("content", [None, b"", b'{"split": "training"}\n'])
def test_captions_that_are_gone_from_storage_fail_the_training(content):
    training = make_training()
    if content is None:
        default_storage.delete(training.data)
    else:
        file_storage.put(training.data, content)

    work(training)

    assert training.state == RunState.FAILED
    assert "in storage" in training.error or "from storage" in training.error


def test_an_image_without_a_file_is_named():
    examples = examples_of(painted_collection(6))
    training = make_training(examples=examples)
    default_storage.delete(Image.objects.get(sha256=examples[0].image).original)

    work(training)

    assert training.state == RunState.FAILED
    assert training.error == f"Image {examples[0].image}: Its file is missing from storage."


def test_images_of_an_evaluation_set_are_refused():
    examples = examples_of(painted_collection(6))

    with pytest.raises(WorkRefusedError, match="1 image belongs to an evaluation set"):
        make_training(examples=examples, evaluated={examples[2].image})

    assert not Training.objects.exists()


def test_what_cannot_be_trained_is_refused():
    imported = make_captioner(painted_collection(1))
    with pytest.raises(WorkRefusedError, match="cannot be trained here"):
        make_training(base=imported)


def test_a_name_that_is_taken_is_refused():
    project = make_project()
    make_training(project=project)
    with pytest.raises(WorkRefusedError, match="The name “Trained” is already taken"):
        make_training(project=project)


def test_a_cancelled_training_is_forgotten_after_a_day():
    training = make_training()
    trainings.folder_of(training).mkdir(parents=True)
    now = timezone.now()

    steering.cancel(training, now=now)

    assert not work(training)
    assert trainings.forget_cancelled(now=now) == 0
    assert default_storage.exists(training.data)
    assert trainings.forget_cancelled(now=now + timedelta(days=2)) == 1
    assert not default_storage.exists(training.data)
    assert not trainings.folder_of(training).exists()
    with pytest.raises(WorkRefusedError, match="Its state has changed"):
        steering.resume(training, now=now)


def test_a_resumed_training_whose_worker_has_not_stopped_goes_on_there():
    training = make_training()
    now = timezone.now()
    held = {"state": RunState.RUNNING, "holder": "one:1", "lease_until": now + timedelta(seconds=30)}
    Training.objects.filter(pk=training.pk).update(**held)
    steering.pause(training, now=now)

    steering.resume(training, now=now)

    assert (training.state, training.holder) == (RunState.RUNNING, "one:1")


def test_models_of_several_languages_are_told_which_to_write():
    collection = painted_collection(6)
    examples = [*examples_of(collection, language="de"), *examples_of(collection)]
    training = make_training(training=[*examples[:5], *examples[6:11]], validation=[examples[5], examples[11]])

    work(training)

    assert training.state == RunState.DONE, training.error
    assert training.model.options["prompts"] == {"de": "de:", "en": "en:"}
    assert set(training.validations.first().languages) == {"de", "en"}
