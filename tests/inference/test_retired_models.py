"""Editing and retiring registered models: what may change, and what stays."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from core.people.models import AuditEntry, Role
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel, Run, RunState
from research.inference.services import models, runs, steering
from research.inference.services.steering import WorkRefusedError
from tests.factories import make_captioner, make_collection, make_language
from tests.inference.watched import make_person, start_run
from tests.sxs_eval.judged import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes", "asked")]


@pytest.fixture
def manager(client, project):
    client.force_login(make_person(Role.MANAGER, project, name="mara"))
    return client


@pytest.fixture
def model(project):
    return owned("Fake model", project, description="Before")


def owned(name, project, **fields):
    return CaptioningModel.objects.create(name=name, backend="fake", project=project, **fields)


def address(name, model):
    return reverse(f"inference:model-{name}", args=[model.pk])


def retire(client, model, *, follow=True):
    return client.post(address("retire", model), {"is_retired": "on"}, follow=follow)


def test_name_and_description_are_edited_and_the_log_says_so(manager, model):
    response = manager.post(address("edit", model), {"name": "After", "description": "Better"}, follow=True)
    model.refresh_from_db()
    assert (model.name, model.description) == ("After", "Better")
    assert "The model is changed." in text_of(response)
    entry = AuditEntry.objects.get(project=model.project, action="model.changed")
    assert entry.details == {"name": "After", "before": "Fake model"}


def test_the_name_of_a_model_with_captions_stays(manager, project):
    model = make_captioner(make_collection(1), "Known", project=project, is_shared=False)
    refused = manager.post(address("edit", model), {"name": "Unknown", "description": "Better"})
    assert refused.status_code == 422
    assert "Scores and releases name it, so its name cannot be changed." in text_of(refused)
    manager.post(address("edit", model), {"name": "Known", "description": "Better"})
    model.refresh_from_db()
    assert (model.name, model.description) == ("Known", "Better")


def test_a_name_that_another_model_has_is_refused(manager, model, project):
    owned("Other", project)
    refused = manager.post(address("edit", model), {"name": "Other", "description": ""})
    assert "already taken" in text_of(refused)


def test_a_retired_model_is_offered_for_nothing_new_and_can_be_restored(manager, model):
    variant = owned("Variant", model.project, variant_of=model, decoding={"beams": 2})
    start = reverse("inference:run-create")
    make_collection(1)
    assert "Fake model" in text_of(manager.get(start))

    page = text_of(retire(manager, model))

    assert "nothing new is made with it" in page
    assert "Start a run" not in page
    assert "Fake model" not in text_of(manager.get(start))
    assert manager.get(start, {"model": model.pk, "collection": make_collection(1).slug}).context.get("plan") is None
    about: dict[str, Any] = {"languages": [make_language("de")], "decoding": Decoding(), "now": timezone.now()}
    for one in (model, variant):
        one.refresh_from_db()
        with pytest.raises(WorkRefusedError, match="is retired"):
            runs.start(model=one, collection=make_collection(1), by=None, **about)
        images = make_collection(1)
        with pytest.raises(WorkRefusedError, match="is retired"):
            runs.start_trial(model=one, image=images.images.get(), collection=images, by=make_person(None), **about)
    assert "retired" in text_of(manager.get(reverse("inference:model-list")))
    restored = manager.post(address("retire", model), follow=True)
    assert "The model is restored." in text_of(restored)
    variant.refresh_from_db()
    assert variant.retired_at is None
    actions = AuditEntry.objects.filter(project=model.project).order_by("number").values_list("action", flat=True)
    assert list(actions) == ["model.retired", "model.restored"]


def test_what_a_retired_model_made_stays(manager, project):
    collection = make_collection(2, project=project, is_shared=False)
    model = make_captioner(collection, "Old", project=project, is_shared=False)
    run = Run.objects.create(
        model=model, collection=collection, project=project, queue="gpu", state=RunState.DONE, created_at=timezone.now()
    )
    retire(manager, model)
    assert manager.get(reverse("inference:run-show", args=[run.pk])).status_code == 200
    assert model.captions.count() == 2
    assert models.has_captions(CaptioningModel.objects.get(pk=model.pk))


def test_runs_of_a_retired_model_are_neither_resumed_nor_tried_again(manager, model):
    run = start_run(model, project=model.project)
    steering.pause(run, now=timezone.now())
    retire(manager, model)
    for go_on in (steering.resume, runs.retry):
        with pytest.raises(WorkRefusedError, match="Restore it first"):
            go_on(Run.objects.get(pk=run.pk), now=timezone.now())
    assert Run.objects.get(pk=run.pk).state == RunState.PAUSED

    manager.post(address("retire", model))
    steering.resume(Run.objects.get(pk=run.pk), now=timezone.now())
    assert Run.objects.get(pk=run.pk).state == RunState.QUEUED


def test_a_model_that_workers_run_is_not_retired(manager, model):
    run = start_run(model, project=model.project)
    assert f"Run {run.pk} is still going." in text_of(retire(manager, model))
    model.refresh_from_db()
    assert model.retired_at is None
