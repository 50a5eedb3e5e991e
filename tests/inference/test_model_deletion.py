"""Models made by mistake are deleted with what is theirs, and never with what others made of it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from core.people.models import AuditEntry, Project
from research.inference.models import CaptioningModel, ModelCaption, Run, RunState
from tests.factories import NOW, make_captioner, make_collection, make_comparison, make_project, make_round

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return make_project("lions")


@pytest.fixture
def model(project):
    return make_captioner(make_collection(2), "Mistaken", project=project)


def page_of(model: CaptioningModel) -> str:
    return reverse("inference:model-delete", args=[model.pk])


def test_a_model_that_nothing_uses_is_deleted_with_its_variants_runs_and_captions(manager, project, model):
    about = {"project": project, "backend": model.backend}
    variant = CaptioningModel.objects.create(name="Mistaken, greedy", variant_of=model, **about)
    collection = make_collection(1)
    run = Run.objects.create(
        model=variant, collection=collection, queue="gpu", state=RunState.DONE, created_at=NOW, project=project
    )
    image = collection.entries.get().image
    ModelCaption.objects.create(model=variant, image=image, language_id="de", text="x", run=run)
    assert "Its 3 captions are deleted" in manager.get(page_of(model)).text
    assert manager.post(page_of(model)).status_code == 302
    assert not any(kind.objects.exists() for kind in (CaptioningModel, ModelCaption, Run))
    assert AuditEntry.objects.get(action="model.deleted").details == {"name": "Mistaken"}


@pytest.mark.parametrize("use", ["comparison", "round"])
def test_what_something_stands_on_stays_and_is_named(manager, project, model, use):
    collection = make_collection(1)
    make_captioner(collection, "Another")
    if use == "round":
        make_round(project=project, collection=collection, captioners=[model])
    else:
        make_comparison(project=project, base=model, collection=collection)
    assert f"{use}s: 1" in manager.get(page_of(model)).text
    assert "in use" in manager.post(page_of(model), follow=True).text
    assert CaptioningModel.objects.filter(pk=model.pk).exists()


def test_a_run_that_is_going_is_waited_for(manager, project, model):
    Run.objects.create(model=model, collection=make_collection(1), queue="gpu", created_at=NOW, project=project)
    assert "in use" in manager.post(page_of(model), follow=True).text
    assert model.captions.exists()


def test_two_models_of_one_name_become_one_unless_they_differ(manager, project):
    collection, own = make_collection(3), {"is_shared": False, "created_by": project.created_by}
    into = make_captioner(collection, "Same", text="x", project=project)
    twin = make_captioner(collection, "Same", text="x", **own)
    first = into.captions.first()
    first.delete()
    edit = reverse("inference:model-edit", args=[twin.pk])
    merge = reverse("inference:model-merge", args=[twin.pk])
    assert merge in manager.get(edit).text
    ModelCaption.objects.filter(pk=into.captions.first().pk).update(text="another")
    assert "another caption of 1 image" in manager.post(merge, {"into": into.pk}, follow=True).text
    into.captions.filter(text="another").update(
        text=twin.captions.get(image=into.captions.get(text="another").image).text
    )
    assert "1 caption was moved here." in manager.post(merge, {"into": into.pk}, follow=True).text
    assert (into.captions.count(), CaptioningModel.objects.filter(name="Same").count()) == (3, 1)
    assert manager.post(merge, {"into": into.pk}).status_code == 404
