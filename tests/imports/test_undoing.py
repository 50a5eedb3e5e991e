"""Undoing an import: all of it or nothing, and not what something was made with."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from core.images.models import Collection, ImportJob, ImportStage
from core.jobs.models import JobState
from core.people.models import Project
from office.imports.services.undoing import UndoRefusedError, ask_to_undo, undo_at_once
from research.inference.models import CaptioningModel, ModelCaption, RunState, Training
from research.inference.selectors.models import caption_counts
from research.inference.training.options import TrainingOptions
from research.scoring.models import Reference, ReferenceSet, Scoring
from research.scoring.services import training_data
from sxs_eval.models import Comparison
from tests.concurrency import BARRIER_TIMEOUT_S, together, together_with_errors
from tests.factories import NOW, make_collection, make_comparison, make_project
from tests.imports.sent import confirmed, run
from tests.locks import wait_for_a_waiter
from tests.scoring.scored import make_scoring

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def project() -> Project:
    return make_project()


@pytest.fixture
def collection(project: Project) -> Collection:
    return make_collection(images=2, project=project, is_shared=False)


def captions(project: Project, collection: Collection, text: str = "a", model: str = "m") -> ImportJob:
    keys = collection.entries.values_list("key", flat=True)
    lines = (f'{{"image": "{key}", "caption": "{text}", "model": "{model}"}}\n' for key in keys)
    return run(confirmed("".join(lines).encode(), "m.de.jsonl", project=project))


def references(project: Project, collection: Collection, *texts: str) -> ImportJob:
    key = collection.entries.first().key
    line = f'{{"image": "{key}", "captions": {list(texts)}}}\n'.replace("'", '"').encode()
    return run(confirmed(line, "People.de.jsonl", project=project, collection=collection.slug))


def undone(job: ImportJob) -> ImportJob:
    ask_to_undo(job=job, by=job.project.created_by, now=NOW)
    return run(job)


def texts() -> list[str]:
    return list(Reference.objects.order_by("position").values_list("text", flat=True))


def test_captions_go_and_the_model_that_came_with_them(project, collection):
    first = captions(project, collection)
    (model,) = CaptioningModel.objects.all()
    again = captions(project, collection)
    assert caption_counts([model.pk]) == {model.pk: {"de": 2}}
    # It brought nothing, and so takes nothing.
    undone(again)
    assert ModelCaption.objects.count() == 2
    assert (undone(first).stage, first.state) == (ImportStage.UNDO, JobState.DONE)
    assert not ModelCaption.objects.exists()
    assert not CaptioningModel.objects.exists()


def test_references_are_again_as_they_were_before(project, collection):
    first = references(project, collection, "a", "b")
    digest = ReferenceSet.objects.get().digest
    second = references(project, collection, "c", "d")
    assert texts() == ["c", "d"]
    with pytest.raises(UndoRefusedError, match="a later import"):
        ask_to_undo(job=first, by=project.created_by, now=NOW)
    undone(second)
    assert (texts(), ReferenceSet.objects.get().digest) == (["a", "b"], digest)
    undone(first)
    assert not ReferenceSet.objects.exists()


def test_what_scores_or_comparisons_build_on_stays(project, collection):
    job, people = captions(project, collection), references(project, collection, "a", "b")
    captions(project, collection, "b", model="other")
    make_scoring(ReferenceSet.objects.get(), model=CaptioningModel.objects.get(name="m"))
    for one in (job, people):
        with pytest.raises(UndoRefusedError, match="scores"):
            ask_to_undo(job=one, by=project.created_by, now=NOW)
    assert ModelCaption.objects.count() == 4


def test_references_that_a_model_was_trained_on_stay(project, collection):
    before = trained_on(0, project)
    people = references(project, collection, "a", "b")
    training = trained_on(ReferenceSet.objects.get().pk, project)
    with pytest.raises(UndoRefusedError, match="trainings"):
        ask_to_undo(job=people, by=project.created_by, now=NOW)
    assert texts() == ["a", "b"]
    training.state = RunState.CANCELLED
    training.save()
    undone(people)
    assert not ReferenceSet.objects.exists()
    assert set(Training.objects.all()) == {before, training}


def trained_on(references: int, project: Project) -> Training:
    sources = [{"split": "training", "set": references, "name": "R", "language": "de", "digest": "d"}]
    counts = {"captions": 1, "images": 1, "validation_images": 1}
    return Training.objects.create(
        name="T", project=project, sources=sources, queue="gpu", created_at=timezone.now(), **counts
    )


def test_who_builds_on_it_between_the_request_and_the_worker_keeps_it(project, collection):
    job = captions(project, collection)
    captions(project, collection, "b", model="other")
    ask_to_undo(job=job, by=project.created_by, now=NOW)
    base, test = CaptioningModel.objects.order_by("name")
    make_comparison(project=project, collection=collection, base=base, test=test, language="de")
    run(job)
    assert (job.stage, job.state) == (ImportStage.UNDO, JobState.FAILED)
    assert "comparisons" in job.error
    assert ModelCaption.objects.count() == 4
    with pytest.raises(UndoRefusedError, match="comparisons"):
        ask_to_undo(job=job, by=project.created_by, now=NOW)
    Comparison.objects.all().delete()
    assert (undone(job).state, job.error, ModelCaption.objects.count()) == (JobState.DONE, "", 2)


def test_an_import_is_undone_once(project, collection):
    job = captions(project, collection)
    undo_at_once(job, now=NOW)
    with pytest.raises(UndoRefusedError, match="is being undone already"):
        undo_at_once(job, now=NOW)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_rivals_who_undo_and_who_score_one_is_refused(project, collection):
    # The control is the test above: without locks, both would have looked before the other wrote.
    job, people = captions(project, collection), references(project, collection, "a", "b")
    model, kept = CaptioningModel.objects.get(), ReferenceSet.objects.get()
    ask_to_undo(job=job, by=project.created_by, now=NOW)

    def act(who: str) -> object:
        return run(job) if who == "undoes" else make_scoring(kept, model=model)

    outcomes = together_with_errors(act, ["undoes", "scores"])
    assert people.parts.count() == 1
    assert isinstance(outcomes[1], Exception) == (job.state == JobState.DONE)
    assert Scoring.objects.exists() == ModelCaption.objects.exists() == CaptioningModel.objects.exists()


def undo_while_a_training_starts(
    project: Project, collection: Collection, monkeypatch: pytest.MonkeyPatch, *, waits: bool
) -> ImportJob:
    """The training has read its captions before the undo, and is stored once the undo waits, or is done."""
    keys = collection.entries.values_list("key", flat=True)
    lines = "".join(f'{{"image": "{key}", "captions": ["a {key}", "b"]}}\n' for key in keys)
    job = run(confirmed(lines.encode(), "People.de.jsonl", project=project, collection=collection.slug))
    ask_to_undo(job=job, by=project.created_by, now=NOW)
    kept, has_read, is_undone = ReferenceSet.objects.get(), threading.Event(), threading.Event()

    def store(**about: object) -> Training:
        has_read.set()
        wait_for_a_waiter() if waits else is_undone.wait(BARRIER_TIMEOUT_S)
        return trained_on(kept.pk, project)

    def act(who: str) -> None:
        if who == "undoes":
            assert has_read.wait(BARRIER_TIMEOUT_S)
            run(job)
            is_undone.set()
        else:
            about: dict[str, Any] = {
                "name": "T",
                "base": None,
                "references": [kept],
                "validation": [],
                "validation_share": 0.5,
            }
            about |= {"leaves_out_evaluated": False, "options": TrainingOptions(), "project": project, "by": None}
            training_data.start_training(**about, now=NOW)

    monkeypatch.setattr("research.inference.services.trainings.start", store)
    together(act, ["undoes", "trains"])
    job.refresh_from_db()
    return job


@pytest.mark.postgres
@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer at a time")
@pytest.mark.django_db(transaction=True)
def test_an_undo_waits_for_a_training_that_starts_and_is_refused(project, collection, monkeypatch):
    job = undo_while_a_training_starts(project, collection, monkeypatch, waits=True)
    assert (job.state, "trainings" in job.error, ReferenceSet.objects.count()) == (JobState.FAILED, True, 1)


@pytest.mark.postgres
@pytest.mark.skipif(not connection.features.has_select_for_update, reason="SQLite has one writer at a time")
@pytest.mark.django_db(transaction=True)
def test_the_control_without_a_lock_the_training_names_what_is_gone(project, collection, monkeypatch):
    monkeypatch.setattr(training_data, "_locked", lambda *sets: sets)
    job = undo_while_a_training_starts(project, collection, monkeypatch, waits=False)
    assert (job.state, Training.objects.count(), ReferenceSet.objects.count()) == (JobState.DONE, 1, 0)
