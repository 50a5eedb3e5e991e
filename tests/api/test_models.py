"""What programs change of models, their captions, runs and trainings: by the services of the pages, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from core.people.models import AuditEntry, Role
from research.inference.models import CaptioningModel, ModelCaption, Run, Training
from tests.api.seeded import Program, Seeded, make_seeded
from tests.api.test_work import address, code
from tests.factories import join_project, make_captioner, make_collection, make_project, make_user
from tests.scoring.scored import make_references

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


@pytest.fixture
def mia(seeded: Seeded) -> Program:
    return Program(seeded.manager)


@pytest.fixture
def blip(seeded: Seeded) -> CaptioningModel:
    model = make_captioner(make_collection(2, project=seeded.project), name="blip", text="Two lions.")
    CaptioningModel.objects.filter(pk=model.pk).update(project=seeded.project, is_shared=False)
    return CaptioningModel.objects.get(pk=model.pk)


def test_a_model_is_changed_as_a_whole_or_not_at_all(seeded, mia, blip):
    where = address("model-show", blip.pk)
    wrong = mia.patch(where, is_retired=True, name="")
    assert code(wrong) == (422, "invalid")
    refused = mia.patch(where, is_retired=True, name="git")
    assert code(refused) == (409, "model-refused")
    assert CaptioningModel.objects.get(pk=blip.pk).retired_at is None
    changed = mia.patch(where, is_retired=True, description="Old.").json()
    assert (changed["description"], changed["name"], changed["retired_at"] is None) == ("Old.", "blip", False)
    assert mia.patch(where, is_retired=False).json()["retired_at"] is None
    made = AuditEntry.objects.filter(project=seeded.project, action__startswith="model.").order_by("pk")
    assert list(made.values_list("action", flat=True)) == ["model.retired", "model.changed", "model.restored"]


def test_things_are_given_only_to_projects_that_one_manages(seeded, mia, blip):
    tigers, others = make_project("tigers"), make_project("others")
    join_project(tigers, seeded.manager, Role.MANAGER)
    where = address("model-show", blip.pk)
    assert mia.patch(where, project=others.slug).json()["errors"] == {"project": ["Valid values: lions, tigers."]}
    assert mia.patch(where, project="tigers").json()["project"] == "tigers"
    assert mia.patch(where, is_shared=True).json()["is_shared"] is True
    rho = Program(join_project(tigers, make_user("rho"), Role.RESEARCHER))
    assert code(rho.patch(where, is_shared=False)) == (404, "not-found")


def test_a_model_that_something_uses_stays_and_another_is_deleted(seeded, mia, blip):
    used = seeded.main.captioners.first() or make_captioner(seeded.main.collection, name="used")
    seeded.main.captioners.add(used)
    CaptioningModel.objects.filter(pk=used.pk).update(project=seeded.project)
    assert code(mia.delete(address("model-show", used.pk))) == (409, "model-refused")
    assert code(mia.post(address("model-merge", blip.pk), into=used.pk)) == (422, "invalid")
    assert mia.delete(address("model-show", blip.pk)).status_code == 204
    assert not CaptioningModel.objects.filter(pk=blip.pk).exists()


def test_a_caption_is_switched_off_for_a_reason(seeded, mia, blip):
    first, second = mia.all_of(address("model-caption-list", blip.pk), language="EN", limit=1)
    where = address("model-caption-switch", first["id"])
    assert list(mia.patch(where, is_off=True).json()["errors"]) == ["reason"]
    assert mia.patch(where, is_off=True, reason="Not lions.").json()["switched_off_reason"] == "Not lions."
    assert ModelCaption.objects.get(pk=second["id"]).switched_off_at is None
    assert mia.patch(where, is_off=False).json() == first


def test_captions_of_a_model_are_found_by_the_filters_of_the_gallery(seeded, mia, blip):
    where = address("model-caption-list", blip.pk)
    here, other = mia.all_of(where)
    entry = blip.captions.get(pk=here["id"]).image.entries.get()
    assert mia.all_of(where, collection=entry.collection.slug, key=entry.key[1:].upper()) == [here]
    assert mia.all_of(where, collection=seeded.main.collection.slug) == []
    mia.patch(address("model-caption-switch", other["id"]), is_off=True, reason="Not lions.")
    assert [one["id"] for one in mia.all_of(where, show="off")] == [other["id"]]
    for key in ("\0", "x" * 201):
        assert list(mia.get(where, key=key).json()["errors"]) == ["key"]
    assert entry.collection.slug in mia.get(where, collection="none").json()["errors"]["collection"][0]


def test_captions_of_images_that_are_assigned_to_somebody_are_not_sent_to_them(seeded):
    assigned = {item.image for item in seeded.writing.items.all()}
    model = make_captioner(next(iter(assigned)).collections.get(), name="git", text="Lions.")
    seeded.project.memberships.create(user=seeded.ann, role=Role.RESEARCHER)
    rho = Program(join_project(seeded.project, make_user("rho"), Role.RESEARCHER))
    where, hidden = address("model-caption-list", model.pk), {str(image.public_id) for image in assigned}
    shown, to_ann = ({row["image"] for row in one.all_of(where)} for one in (rho, Program(seeded.ann)))
    assert hidden
    assert hidden <= shown
    assert not hidden & to_ann


def test_one_image_is_tried_and_vectors_and_trainings_are_refused_with_what_there_is(seeded, mia, blip):
    missing = mia.post(address("model-try", blip.pk))
    assert list(missing.json()["errors"]) == ["key"]
    vectors: Any = mia.post(address("embedding-list"), encoder=99, collection="none")
    assert sorted(vectors.json()["errors"]) == ["collection", "encoder"]
    references = make_references(project=seeded.project, collection=make_collection(20, project=seeded.project))
    asked = {"name": "small", "references": [references.pk], "steps": 2, "validate_every": 1}
    answer = mia.post(address("training-start", "lions"), **asked)
    assert (answer.status_code, answer.json()["steps"]) == (202, 2), answer.json()
    where = address("training-step", answer.json()["id"], "pause")
    assert mia.post(where).json()["state"] == "paused"
    assert mia.get(answer["Location"]).json()["state"] == "paused"
    assert code(mia.post(where)) == (409, "work-refused")
    assert Training.objects.get().project == seeded.project


def test_what_a_run_would_do_is_said_before_it_is_started(seeded, mia, blip):
    CaptioningModel.objects.filter(pk=blip.pk).update(backend="palette")
    collection = blip.captions.first().image.entries.get().collection
    sent = {"model": blip.pk, "collection": collection.slug, "languages": ["en"], "project": "lions"}
    as_before = mia.post(address("run-plan"), **sent)
    assert as_before.status_code == 200, as_before.content
    expected = {"name": "blip", "is_variant": False, "is_new_variant": False, "captions": 0, "already": 2, "lacking": 0}
    assert as_before.json() == expected
    sent["languages"] = ["en", "de"]
    both = mia.post(address("run-plan"), **sent).json()
    assert both == expected | {"captions": 2}
    assert not Run.objects.exists()
    started = mia.post(address("run-list"), **sent).json()
    assert (started["total"], started["already"]) == (4, 2)
    runs, another = address("run-list"), seeded.main.captioners.get()
    assert [one["id"] for one in mia.all_of(runs, model=blip.pk)] == [started["id"]]
    assert mia.all_of(runs, model=another.pk) == []
    assert str(blip.pk) in mia.get(runs, model="x").json()["errors"]["model"][0]
