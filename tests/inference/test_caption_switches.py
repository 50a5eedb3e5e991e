"""A bad caption of a model is switched off: new work does without it, and all that was done keeps it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotation.models import CaptionItem, CaptionTask
from annotation.selectors.overview import coverage_of
from annotation.services.rounds import add_missing_tasks
from core.people.models import AuditEntry, Membership, Role
from research.inference.models import ModelCaption
from research.inference.selectors import gallery
from research.inference.services.caption_switches import switch_off, switch_on
from sxs_eval.services.comparisons import fill_comparison
from tests.annotation.submitting import take
from tests.clients import client_of
from tests.factories import (
    NOW,
    make_annotator,
    make_captioner,
    make_collection,
    make_comparison,
    make_project,
    make_round,
    make_user,
)

pytestmark = pytest.mark.django_db

WHY = "It names a person."


@pytest.fixture
def manager():
    manager: Any = make_user("mara")
    manager.project = make_project(manager=manager)
    return manager


@pytest.fixture
def collection(manager):
    return make_collection(3, project=manager.project)


@pytest.fixture
def model(manager, collection):
    return make_captioner(collection, "Alpha", project=manager.project)


def caption_of(model, number=0):
    return ModelCaption.objects.filter(model=model, language="en").order_by("image")[number]


def off(caption, by=None):
    return switch_off(caption_id=caption.pk, reason=WHY, by=by, now=NOW)


def switch(client, caption, **sent):
    return client.post(reverse("inference:caption-switch", args=[caption.pk]), sent, follow=True)


class TestSwitching:
    def test_who_when_and_why_are_kept_and_logged_without_a_word_of_it(self, manager, model):
        caption = off(caption_of(model), manager)
        off(caption, make_user("second"))
        caption.refresh_from_db()
        assert (caption.switched_off_by, caption.switched_off_at, caption.switched_off_reason) == (manager, NOW, WHY)
        entry = AuditEntry.objects.get(action="model-caption.switched-off")
        assert (entry.project, entry.by, entry.details) == (manager.project, manager, {"reason": WHY})
        assert caption.text not in entry.about

        switch_on(caption_id=caption.pk, by=manager, now=NOW)
        switch_on(caption_id=caption.pk, by=manager, now=NOW)
        caption.refresh_from_db()
        assert (caption.switched_off_by, caption.switched_off_at, caption.switched_off_reason) == (None, None, "")
        assert AuditEntry.objects.filter(action="model-caption.switched-on").count() == 1

    @pytest.mark.postgres
    @pytest.mark.parametrize(
        "values",
        [{"switched_off_at": NOW}, {"switched_off_reason": WHY}, {"switched_off_at": NOW, "switched_off_reason": ""}],
    )
    def test_none_is_off_without_a_reason_or_has_a_reason_while_it_is_on(self, model, values):
        with pytest.raises(IntegrityError), transaction.atomic():
            ModelCaption.objects.filter(pk=caption_of(model).pk).update(**values)


class TestRounds:
    def test_new_tasks_and_coverage_do_without_it(self, collection, model):
        off(caption_of(model))
        assert coverage_of(collection, [model]).by_any == 2
        assert make_round(collection=collection, captioners=[model]).tasks.count() == 2

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_tasks_that_nobody_has_get_the_caption_of_another_model(self, collection, model):
        other = make_captioner(collection, "Beta", text="better")
        round = make_round(collection=collection, captioners=[model, other])
        for number in range(3):
            off(caption_of(model, number))
        assert {task.english.model for task in CaptionTask.objects.filter(round=round)} == {other}
        item = take(round, make_annotator(round)).items.first()
        assert item.english.model == other

    def test_without_another_the_task_waits_until_it_is_on_again(self, collection, model):
        round = make_round(collection=collection, captioners=[model])
        caption = off(caption_of(model))
        batch = take(round, make_annotator(round))
        assert caption.image_id not in batch.items.values_list("image", flat=True)
        assert batch.items.count() == 2

        switch_on(caption_id=caption.pk, by=None, now=NOW)
        assert take(round, make_annotator(round)).items.count() == 3

    def test_a_task_that_waits_takes_a_caption_that_comes_later(self, collection, model):
        beta = make_captioner(make_collection(0), "Beta")
        round = make_round(collection=collection, captioners=[model, beta])
        caption = off(caption_of(model))
        late = ModelCaption.objects.create(model=beta, image=caption.image, language_id="en", text="better")
        assert add_missing_tasks(round) == 0
        assert CaptionTask.objects.get(round=round, image=caption.image).english == late

    def test_who_has_it_keeps_it_and_the_next_person_gets_another(self, collection, model):
        other = make_captioner(make_collection(0), "Beta")
        round = make_round(collection=collection, captioners=[model, other])
        first = take(round, make_annotator(round))
        caption = caption_of(model)
        ModelCaption.objects.create(model=other, image=caption.image, language_id="en", text="better")
        off(caption)
        assert CaptionItem.objects.get(batch=first, image=caption.image).english == caption
        second = take(round, make_annotator(round))
        assert CaptionItem.objects.get(batch=second, image=caption.image).english.model == other


def test_comparisons_planned_later_do_without_it_and_earlier_ones_keep_it(collection):
    base, test = (make_captioner(collection, text=text, language="de") for text in ("base", "test"))
    before = make_comparison(collection=collection, base=base, test=test)
    off(ModelCaption.objects.filter(model=test).first())
    after = make_comparison(collection=collection, base=base, test=test, seed=2)
    fill_comparison(comparison_id=before.pk)
    after.refresh_from_db()
    assert (before.pairs.count(), after.pairs.count(), after.left_out) == (3, 2, 1)


class TestPages:
    @pytest.mark.postgres
    def test_a_manager_switches_it_off_on_the_images_page_and_on_again(self, manager, collection, model):
        client = client_of(manager)
        caption = caption_of(model)
        page = reverse("images:collection-image-show", args=[collection.slug, caption.image.public_id])
        address = reverse("inference:caption-switch", args=[caption.pk])
        assert f'href="{address}?back={page}"' in client.get(page).text.replace("%2F", "/")

        assert client.post(address, {"reason": " "}).status_code == 422
        switched = client.post(f"{address}?back={page}", {"reason": WHY}, follow=True)
        assert switched.redirect_chain == [(page, 302)]
        assert "switched off" in switched.text
        assert WHY in switched.text
        found = client.get(reverse("images:collection-show", args=[collection.slug]), {"captions": "off"})
        assert [item.image.public_id for item in found.context["shown"]] == [caption.image.public_id]

        on = client.post(f"{address}?back={page}", {"on": 1}, follow=True)
        assert "in use again" in on.text
        assert not ModelCaption.objects.switched_off().exists()

    def test_the_address_to_go_back_to_is_one_of_this_site(self, manager, model):
        address = reverse("inference:caption-switch", args=[caption_of(model).pk])
        answer = client_of(manager).post(f"{address}?back=https://evil.example.org/", {"reason": WHY})
        assert answer["Location"] == reverse("inference:gallery")

    def test_who_has_the_image_in_a_batch_sees_no_caption_of_it(self, manager, collection, model):
        round = make_round(collection=collection, captioners=[model], batch_size=3)
        person = make_annotator(round)
        Membership.objects.create(project=manager.project, user=person, role=Role.MANAGER)
        take(round, person)
        caption, client = caption_of(model), client_of(person)
        page = client.get(reverse("images:collection-image-show", args=[collection.slug, caption.image.public_id]))
        assert page.status_code == 200
        assert caption.text not in page.text
        assert client.get(reverse("inference:caption-switch", args=[caption.pk])).status_code == 404

    def test_the_gallery_marks_it_links_its_switch_and_finds_it(self, manager, collection, model):
        caption = off(caption_of(model))
        client = client_of(manager)
        asked = {
            "collection": collection.slug,
            "model": model.pk,
            "language": "en",
            "show": gallery.GalleryImagesShown.OFF,
        }
        text = client.get(reverse("inference:gallery"), asked).text
        assert text.count("gallery__key") == 1
        assert WHY in text
        assert reverse("inference:caption-switch", args=[caption.pk]) in text

        other = make_user()
        make_project(manager=other)
        text = client_of(other).get(reverse("inference:gallery"), asked).text
        assert "switched off" in text
        assert WHY not in text
        assert reverse("inference:caption-switch", args=[caption.pk]) not in text
