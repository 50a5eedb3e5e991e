"""Trying one image: of a collection or sent along, for nobody but who asked, and for no image in one's own hands."""

from __future__ import annotations

import io
from datetime import timedelta
from html import unescape

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from PIL import Image as Pillow

from images.models import CollectionImage, Image, JobState
from images.rules import limits
from images.rules.resizing import served_sizes
from images.services import file_storage
from images.services.images import sha256_of
from inference.models import CaptioningModel, ModelCaption, Trial, Worker
from inference.services import trials
from people.models import Role
from tests.annotation.submitting import take
from tests.factories import (
    NOW,
    make_captioner,
    make_collection,
    make_image,
    make_user,
)
from tests.inference.watched import DECODING, make_busy_researcher, make_person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "researcher")]


@pytest.fixture
def model():
    return CaptioningModel.objects.create(is_shared=True, name="Colours", backend="palette")


@pytest.fixture
def collection():
    made = make_collection(images=2)
    for entry in made.entries.select_related("image"):
        file_storage.put(entry.image.original, image_file("green"))
    return made


def client_of(person):
    client = Client()
    client.force_login(person)
    return client


def image_file(colour="red", *, comment=b"where I live"):
    content = io.BytesIO()
    Pillow.new("RGB", (64, 48), colour).save(content, "JPEG", comment=comment)
    return content.getvalue()


def ask(client, model, **sent):
    sent = DECODING | {"languages": ["en", "ar"]} | sent
    return client.post(reverse("inference:model-try", args=[model.pk]), sent)


def text_of(response):
    return unescape(response.text)


def show(client, trial, **headers):
    return client.get(reverse("inference:trial-show", args=[trial.pk]), headers=headers)


def work(trial):
    trials.run_trial(trial_id=trial.pk, worker="bench-1", clock=lambda: NOW + timedelta(days=9999))


@pytest.mark.parametrize(("kind", "can_be_decoded"), [("JPEG", True), ("PNG", False)])
def test_an_image_that_takes_much_memory_is_refused_while_the_page_waits(
    client, model, monkeypatch, kind, can_be_decoded
):
    content = io.BytesIO()
    Pillow.new("RGB", (64, 48)).save(content, kind)
    monkeypatch.setattr(limits, "MAX_WAITED_FOR_BYTES", 2 * 64 * 48)
    response = ask(client, model, upload=SimpleUploadedFile(f"a.{kind.lower()}", content.getvalue()))
    assert response.status_code == (302 if can_be_decoded else 422)
    assert can_be_decoded or "needs much memory. Save a smaller version or a plain JPEG." in text_of(response)
    assert Trial.objects.exists() == can_be_decoded


def test_an_image_of_a_collection_is_described_in_each_language_and_nothing_is_kept(client, model, collection):
    key = collection.entries.first().key
    response = ask(client, model, key=key, collection=collection.slug)
    trial = Trial.objects.get()
    assert response["Location"] == reverse("inference:trial-show", args=[trial.pk])
    waiting = text_of(show(client, trial))
    assert 'hx-trigger="every 1s"' in waiting
    assert "celery --app config worker --queues default" in waiting
    work(trial)
    page = text_of(show(client, trial))
    trial.refresh_from_db()
    for tag, direction in (("en", "ltr"), ("ar", "rtl")):
        assert f'lang="{tag}" dir="{direction}">{trial.results[tag]["text"]}</dd>' in page
    assert "bench-1" in page
    assert "including waiting" in page
    assert key in page
    assert "hx-get" not in page
    assert client.get(reverse("inference:trial-image", args=[trial.pk])).status_code == 404
    assert not ModelCaption.objects.exists()
    assert str(trial.created_at.year) in text_of(client.get(reverse("inference:model-try", args=[model.pk])))


def test_the_script_is_sent_only_the_result(client, model, collection):
    ask(client, model, key=collection.entries.first().key)
    part = text_of(show(client, Trial.objects.get(), **{"HX-Request": "true"}))
    assert "<html" not in part
    assert 'id="trial-result"' in part


@pytest.mark.long(reason="at least three others run each of its lines")
def test_where_a_worker_listens_nobody_is_told_to_start_one(client, model, collection):
    ask(client, model, key=collection.entries.first().key)
    trial = Trial.objects.get()
    Worker.objects.create(name="w", queues="default", started_at=trial.created_at, seen_at=trial.created_at)
    assert "celery --app" not in text_of(show(client, trial))


def test_an_image_sent_along_is_seen_without_what_its_file_says_and_by_nobody_else(client, model):
    ask(client, model, upload=SimpleUploadedFile("me.jpg", image_file()))
    trial = Trial.objects.get()
    work(trial)
    assert "bench-1" in text_of(show(client, trial))
    where = reverse("inference:trial-image", args=[trial.pk])
    assert where in text_of(show(client, trial))
    response = client.get(where)
    assert response["Content-Type"] == "image/webp"
    assert Pillow.open(io.BytesIO(response.content)).size == (64, 48)
    assert b"where I live" not in response.content
    assert b"where I live" in default_storage.open(trial.upload).read()

    for person in (make_person(Role.RESEARCHER), make_user()):
        stranger = client_of(person)
        assert (show(stranger, trial).status_code, stranger.get(where).status_code) == (404, 404)


def test_the_image_of_a_trial_goes_with_it_after_a_day(client, model):
    ask(client, model, upload=SimpleUploadedFile("me.jpg", image_file()))
    trial = Trial.objects.get()
    trials.forget_old(now=trial.created_at + timedelta(hours=23))
    assert default_storage.exists(trial.upload)
    trials.forget_old(now=trial.created_at + timedelta(hours=25))
    assert not default_storage.exists(trial.upload)
    assert show(client, trial).status_code == 404


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({}, "Either name an image or send one, not both"),
        ({"key": "gone"}, "No image has this key"),
        ({"key": "twice"}, "“twice” may be any of 2 images"),
        ({"key": "a\0b"}, "Null characters"),
        ({"key": "twice", "upload": ("me.jpg", image_file())}, "not both"),
        ({"upload": ("me.txt", b"words")}, "Convert it to JPEG"),
        ({"upload": ("me.png", image_file())}, "Rename it"),
        ({"upload": ("me.jpg", image_file()[:200])}, "broken or incomplete"),
        ({"key": "once", "languages": ["tlh"]}, "not one of the available choices"),
        ({"key": "once", "beams": 0}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_tried_is_refused_with_the_reason(client, model, collection, sent, says):
    other = make_collection(images=0)
    CollectionImage.objects.create(collection=other, image=make_image(), key="once", position=1)
    for one in (collection, other):
        CollectionImage.objects.create(collection=one, image=make_image(), key="twice", position=9)
    if "upload" in sent:
        sent = sent | {"upload": SimpleUploadedFile(*sent["upload"])}
    response = ask(client, model, **sent)
    assert response.status_code == 422
    assert says in text_of(response)
    assert not Trial.objects.exists()


def test_more_than_an_image_may_have_is_refused_unread(client, model, monkeypatch):
    monkeypatch.setattr(limits, "MAX_IMAGE_BYTES", 100)
    monkeypatch.setattr("inference.views.trials.FORM_BYTES", 100)
    response = ask(client, model, upload=SimpleUploadedFile("me.jpg", image_file()))
    assert response.status_code == 413
    assert "Choose a smaller one" in text_of(response)


def test_an_image_assigned_is_not_tried_nor_is_the_result_shown(client, model, collection):
    person, round = make_busy_researcher(collection)
    busy = client_of(person)
    entries = list(collection.entries.select_related("image"))
    for entry in entries:
        ask(busy, model, key=entry.key)
    tried = {trial.image_id: trial for trial in Trial.objects.all()}
    for trial in tried.values():
        work(trial)
    (item,) = take(round, person).items.all()

    pages = {image: text_of(show(busy, trial)) for image, trial in tried.items()}
    said = {image: Trial.objects.get(pk=trial.pk).results["en"]["text"] for image, trial in tried.items()}
    assert [image for image, page in pages.items() if said[image] in page] == [
        entry.image_id for entry in entries if entry.image_id != item.image_id
    ]
    mine = next(entry for entry in entries if entry.image_id == item.image_id)
    assert mine.image.public_id.hex not in pages[mine.image_id].replace("-", "")
    assert mine.key not in pages[mine.image_id]
    same = SimpleUploadedFile("me.jpg", image_file("blue"))
    mine.image.sha256 = sha256_of(io.BytesIO(image_file("blue")))
    mine.image.save()
    for sent in ({"key": mine.key}, {"upload": same}):
        refused = ask(busy, model, **sent)
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
    assert not Trial.objects.exists()


def test_what_failed_says_why(client, model, collection):
    entry = collection.entries.select_related("image").first()
    default_storage.delete(entry.image.original)
    ask(client, model, key=entry.key)
    trial = Trial.objects.get()
    work(trial)
    trial.refresh_from_db()
    assert trial.state == JobState.FAILED
    assert trial.error in text_of(show(client, trial))


def photograph(seed, *, size=(640, 480), kind="JPEG"):
    """Something with light and dark places of its own, compressed."""
    content, rough = io.BytesIO(), Pillow.new("RGB", (8, 6))
    rough.putdata([tuple((seed * 37 + place * 91 * (band + 1)) % 256 for band in range(3)) for place in range(48)])
    rough.resize(size, Pillow.Resampling.BICUBIC).save(content, kind, quality=70)
    return content.getvalue()


def test_an_image_assigned_is_known_again_as_saved_from_its_page_and_others_are_taken(model, collection):
    person, round = make_busy_researcher(collection)
    held = take(round, person).items.select_related("image").get().image
    client = client_of(person)
    for size, content in served_sizes(io.BytesIO(photograph(1)), kind="JPEG"):
        file_storage.put(file_storage.size_name(held.public_id, size), content)
    saved = [
        ("saved.webp", file_storage.read_size(held.public_id, 320)),
        ("smaller.png", photograph(1, size=(200, 150), kind="PNG")),
    ]
    for name, content in saved:
        refused = ask(client, model, upload=SimpleUploadedFile(name, content))
        assert refused.status_code == 422
        assert "resembles an image in a batch assigned to you" in text_of(refused)
    assert not Trial.objects.exists()
    assert ask(client, model, upload=SimpleUploadedFile("other.jpg", photograph(2))).status_code == 302
    stranger = client_of(make_person(Role.RESEARCHER))
    assert ask(stranger, model, upload=SimpleUploadedFile(*saved[0])).status_code == 302


def test_the_file_of_an_image_that_is_sent_is_hidden_once_that_image_is_assigned(model):
    content = image_file()
    image = make_image()
    Image.objects.update(sha256=sha256_of(io.BytesIO(content)))
    file_storage.put(image.original, content)
    collection = make_collection(images=0)
    CollectionImage.objects.create(collection=collection, image=image, key="mine", position=1)
    person = make_person(Role.RESEARCHER)
    ask(client_of(person), model, upload=SimpleUploadedFile("me.jpg", content))
    trial = Trial.objects.get()
    work(trial)
    trial.refresh_from_db()
    said = trial.results["en"]["text"]
    assert said in text_of(show(client_of(person), trial))
    annotator, round = make_busy_researcher(collection)
    assert take(round, annotator).items.get().image == image
    Trial.objects.update(created_by=annotator)
    page = text_of(show(client_of(annotator), trial))
    assert said not in page
    assert "hidden from you" in page
    assert client_of(annotator).get(reverse("inference:trial-image", args=[trial.pk])).status_code == 404


def test_nobody_fills_the_disk_or_the_queue_with_trials(client, model, collection, monkeypatch):
    monkeypatch.setattr(trials, "MOST_UPLOADS", 2)
    monkeypatch.setattr(trials, "MOST_OPEN", 3)
    key = collection.entries.first().key
    for number in range(2):
        assert ask(client, model, upload=SimpleUploadedFile("me.jpg", photograph(number))).status_code == 302
    assert "the most allowed" in text_of(ask(client, model, upload=SimpleUploadedFile("me.jpg", photograph(5))))
    assert ask(client, model, key=key).status_code == 302
    assert "Too many of your trials" in text_of(ask(client, model, key=key))
    for trial in Trial.objects.all():
        work(trial)
    assert ask(client, model, key=key).status_code == 302
