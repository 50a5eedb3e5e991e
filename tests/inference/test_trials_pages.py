"""Trying a model on one image of a collection: for nobody but who asked, and for no image in one's own hands."""

from __future__ import annotations

from datetime import timedelta
from html import unescape

import pytest
from django.core.files.storage import default_storage
from django.urls import reverse
from django.utils import timezone

from core.images.models import Collection, CollectionImage
from core.images.services import file_storage
from core.people.models import Project, Role
from research.inference.models import CaptioningModel, ModelCaption, Run, RunState
from research.inference.services import runs
from tests.annotation.submitting import take
from tests.clients import client_of
from tests.factories import make_captioner, make_collection, make_image, make_user
from tests.images.image_files import image_file
from tests.inference.fake_runs import go
from tests.inference.watched import DECODING, address, make_busy_researcher, make_person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "researcher")]


@pytest.fixture
def model():
    return CaptioningModel.objects.create(is_shared=True, name="Colours", backend="palette")


@pytest.fixture
def collection():
    made = make_collection(images=2)
    for entry in made.entries.select_related("image"):
        file_storage.put(entry.image.original, image_file())
    return made


def ask(client, model, **sent):
    sent = DECODING | {"languages": ["en", "ar"]} | sent
    return client.post(reverse("inference:model-try", args=[model.pk]), sent)


def text_of(response):
    return unescape(response.text)


def show(client, trial):
    return client.get(address("show", trial))


def test_an_image_of_a_collection_is_described_in_each_language_and_nothing_is_kept(client, model, collection):
    key = collection.entries.first().key
    response = ask(client, model, key=key)
    trial = Run.objects.get()
    assert response["Location"] == address("show", trial)
    assert trial.collection == collection
    waiting = text_of(show(client, trial))
    assert 'hx-trigger="every 2s"' in waiting
    assert "celery --app config worker --queues default" in waiting
    go(trial)
    page = text_of(show(client, trial))
    for tag, direction in (("en", "ltr"), ("ar", "rtl")):
        assert f'lang="{tag}" dir="{direction}">{trial.trial_captions[tag]["text"]}</dd>' in page
    assert "Try another image" in page
    assert "Project and sharing" not in page
    assert key in page
    assert not ModelCaption.objects.exists()
    for name, about in (("run-list", []), ("model-show", [model.pk])):
        assert '<span class="tag">Trial</span>' in text_of(client.get(reverse(f"inference:{name}", args=about)))


def test_a_trial_is_found_by_nobody_but_who_began_it(client, collection):
    person, project = make_person(Role.RESEARCHER), Project.objects.latest("pk")
    own = CaptioningModel.objects.create(project=project, name="Colours", backend="palette")
    Collection.objects.filter(pk=collection.pk).update(project=project, is_shared=False)
    ask(client_of(person), own, key=collection.entries.first().key)
    trial = Run.objects.get()
    staff = make_user()
    staff.is_staff = staff.is_superuser = True
    staff.save()
    others = [make_person(role, project) for role in (Role.RESEARCHER, Role.MANAGER)]
    for stranger in map(client_of, (*others, staff)):
        read = [stranger.get(address(name, trial)) for name in ("show", "progress", "failures", "owner")]
        steered = [stranger.post(address(name, trial)) for name in ("pause", "cancel", "retry", "owner")]
        assert {response.status_code for response in (*read, *steered)} == {404}
        assert f"Run {trial.pk}" not in text_of(stranger.get(reverse("inference:run-list")))
    assert client_of(person).post(address("owner", trial)).status_code == 404
    assert client_of(person).post(address("cancel", trial)).status_code == 302
    trial.refresh_from_db()
    assert trial.state == RunState.CANCELLED


def test_a_trial_keeps_no_collection_from_being_deleted(model, collection):
    manager, project = make_person(Role.MANAGER), Project.objects.latest("pk")
    Collection.objects.filter(pk=collection.pk).update(project=project, is_shared=False)
    client, where = client_of(manager), reverse("dashboard:collection-delete", args=[collection.slug])
    ask(client, model, key=collection.entries.first().key)
    assert "Runs of models" not in text_of(client.get(where))
    client.post(where)
    assert not Run.objects.exists()
    assert not Collection.objects.filter(pk=collection.pk).exists()


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({}, "This field is required"),
        ({"key": "gone"}, "No image has this key"),
        ({"key": "twice"}, "“twice” may be any of 2 images"),
        ({"key": "a\0b"}, "Null characters"),
        ({"key": "once", "languages": ["tlh"]}, "not one of the available choices"),
        ({"key": "once", "beams": 0}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_tried_is_refused_with_the_reason(client, model, collection, sent, says):
    other = make_collection(images=0)
    CollectionImage.objects.create(collection=other, image=make_image(), key="once", position=1)
    for one in (collection, other):
        CollectionImage.objects.create(collection=one, image=make_image(), key="twice", position=9)
    response = ask(client, model, **sent)
    assert response.status_code == 422
    assert says in text_of(response)
    assert not Run.objects.exists()


def test_an_image_assigned_is_not_tried_nor_is_the_result_shown(client, model, collection):
    person, round = make_busy_researcher(collection)
    busy = client_of(person)
    entries = list(collection.entries.select_related("image"))
    for entry in entries:
        ask(busy, model, key=entry.key)
    tried = {trial.trial_image_id: go(trial) for trial in Run.objects.all()}
    (item,) = take(round, person).items.all()

    pages = {image: text_of(show(busy, trial)) for image, trial in tried.items()}
    said = {image: trial.trial_captions["en"]["text"] for image, trial in tried.items()}
    assert [image for image, page in pages.items() if said[image] in page] == [
        entry.image_id for entry in entries if entry.image_id != item.image_id
    ]
    mine = next(entry for entry in entries if entry.image_id == item.image_id)
    assert mine.image.public_id.hex not in pages[mine.image_id].replace("-", "")
    assert mine.key not in pages[mine.image_id]
    refused = ask(busy, model, key=mine.key)
    assert refused.status_code == 422
    assert "in a batch assigned to you" in text_of(refused)
    assert ask(client, model, key=mine.key).status_code == 302


def test_a_model_whose_captions_come_from_files_cannot_be_tried(client):
    model = make_captioner(make_collection())
    where = reverse("inference:model-try", args=[model.pk])
    for response in (client.get(where), ask(client, model, key="x")):
        assert "nothing to run" in text_of(response)
    gone = CaptioningModel.objects.create(is_shared=True, name="Gone", backend="gone")
    assert "cannot be run here" in text_of(client.get(reverse("inference:model-try", args=[gone.pk])))
    assert not Run.objects.exists()


def test_what_failed_says_why(client, model, collection):
    entry = collection.entries.select_related("image").first()
    default_storage.delete(entry.image.original)
    ask(client, model, key=entry.key)
    trial = go(Run.objects.get())
    assert trial.state == RunState.FAILED
    assert trial.error in text_of(show(client, trial))
    assert "missing from storage" in text_of(client.get(address("failures", trial)))


def test_nobody_fills_the_queue_with_trials(client, model, collection, monkeypatch):
    monkeypatch.setattr(runs, "MAX_OPEN_TRIALS", 2)
    key = collection.entries.first().key
    for _ in range(2):
        assert ask(client, model, key=key).status_code == 302
    assert "Too many of your trials" in text_of(ask(client, model, key=key))
    for trial in Run.objects.all():
        go(trial, at=timezone.now() + timedelta(minutes=1))
    assert ask(client, model, key=key).status_code == 302
