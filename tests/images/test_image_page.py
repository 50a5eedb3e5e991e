"""The page of one image and the edit of many, as managers and outsiders find them."""

from __future__ import annotations

import pytest
from django.urls import reverse

from core.images.models import AttributionChange, CollectionImage, Image
from core.images.rules.attributions import LICENCE_URLS
from tests.clients import client_of
from tests.factories import make_captioner, make_collection, make_project, make_round

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection(manager):
    return make_collection(3, project=manager.project, is_shared=False)


@pytest.fixture
def entry(collection):
    return collection.entries.select_related("image").first()


def address_of(entry, name="collection-image-show"):
    return reverse(f"images:{name}", args=[entry.collection.slug, entry.image.public_id])


def edit_address(collection):
    return reverse("images:images-edit", args=[collection.slug])


def sent(entry, **values):
    image = Image.objects.get(pk=entry.image_id)
    stored = {name: getattr(image, name) for name in ("title", "author", "licence", "licence_url", "source")}
    return {**stored, "seen": 0, **values}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_manager_sees_all_that_is_known_of_an_image(manager, collection, entry):
    model = make_captioner(collection, "Alpha")
    make_round(project=manager.project, collection=collection, captioners=[model])
    other = make_collection(0, project=manager.project)
    CollectionImage.objects.create(collection=other, image=entry.image, key="x", position=1)

    text = client_of(manager).get(address_of(entry)).text

    for known in (entry.key, entry.image.sha256, "640 × 480", "An Author", "CC BY 4.0", other.name, "Alpha"):
        assert known in text
    assert f"english caption of {entry.key}" in text
    assert reverse("annotation:image-show", args=[manager.project.slug, entry.image.public_id]) in text


def test_the_page_of_a_shared_image_leads_none_but_its_own_managers_to_edit_it(manager):
    entry = make_collection(1, project=make_project()).entries.select_related("image").first()
    assert address_of(entry, "collection-image-edit") not in client_of(manager).get(address_of(entry)).text


def test_an_image_of_another_collection_is_not_found_here(manager, collection):
    elsewhere = make_collection(1).entries.select_related("image").first()
    address = reverse("images:collection-image-show", args=[collection.slug, elsewhere.image.public_id])
    assert client_of(manager).get(address).status_code == 404


def test_saving_changes_the_image_and_shows_who_changed_what(manager, entry):
    client = client_of(manager)
    answer = client.post(
        address_of(entry, "collection-image-edit"), sent(entry, licence="CC0 1.0", title="Boats"), follow=True
    )
    image = Image.objects.get(pk=entry.image_id)
    assert (image.title, image.licence) == ("Boats", "CC0 1.0")
    assert image.licence_url == "https://creativecommons.org/publicdomain/zero/1.0/"
    assert "<del><bdi>CC BY 4.0</bdi></del>" in answer.text
    assert "mara" in answer.text


def test_who_saves_after_somebody_else_sees_both(manager, entry):
    client = client_of(manager)
    client.post(address_of(entry, "collection-image-edit"), sent(entry, title="First"))
    late = client.post(address_of(entry, "collection-image-edit"), sent(entry, title="Second"))
    assert late.status_code == 409
    assert "Stored now: First" in late.text
    assert 'value="Second"' in late.text
    newest = AttributionChange.objects.latest("pk").pk
    client.post(address_of(entry, "collection-image-edit"), sent(entry, title="Second", seen=newest))
    assert Image.objects.get(pk=entry.image_id).title == "Second"


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": "x" * 501},
        {"licence_url": "ftp://x.org/"},
        {"licence_url": "no address"},
        {"seen": "x"},
        {"author": "a\0"},
    ],
)
def test_what_cannot_be_stored_is_refused(manager, entry, wrong):
    answer = client_of(manager).post(address_of(entry, "collection-image-edit"), sent(entry, **wrong))
    assert answer.status_code == 422
    assert not AttributionChange.objects.exists()


def test_what_others_have_too_is_filled_in_but_not_replaced(manager, entry):
    theirs = make_collection(0, project=make_project(), is_shared=False)
    CollectionImage.objects.create(collection=theirs, image=entry.image, key="x", position=1)
    client = client_of(manager)
    page = client.get(address_of(entry)).text
    assert "you do not manage" in page
    assert theirs.name not in page
    refused = client.post(address_of(entry, "collection-image-edit"), sent(entry, licence="CC0 1.0"))
    assert refused.status_code == 422
    assert "not change what is stored" in refused.text
    client.post(address_of(entry, "collection-image-edit"), sent(entry, title="Boats"))
    image = Image.objects.get(pk=entry.image_id)
    assert (image.title, image.licence) == ("Boats", "CC BY 4.0")


VALUES = {"change_licence": "on", "licence": "CC0 1.0", "which": "all"}


class TestMany:
    def test_it_says_what_will_happen_before_it_happens(self, manager, collection):
        client = client_of(manager)
        address = edit_address(collection) + "?all=1"
        asked = client.post(address, VALUES)
        assert asked.status_code == 200
        assert "Change 3 images?" in asked.text
        assert not AttributionChange.objects.exists()
        done = client.post(address, {**VALUES, "confirmed": 3}, follow=True)
        assert "3 images were changed." in done.text
        assert set(collection.entries.values_list("image__licence", flat=True)) == {"CC0 1.0"}

    def test_only_those_chosen_are_changed(self, manager, collection, entry):
        client = client_of(manager)
        address = f"{edit_address(collection)}?image={entry.image.public_id}&image=x"
        client.post(address, {**VALUES, "confirmed": 1})
        assert list(AttributionChange.objects.values_list("image", flat=True)) == [entry.image_id]

    def test_all_that_a_search_finds_are_changed_and_the_search_is_kept(self, manager, collection, entry):
        Image.objects.filter(pk=entry.image_id).update(licence="")
        client = client_of(manager)
        done = client.post(f"{edit_address(collection)}?all=1&licence=none", {**VALUES, "confirmed": 1})
        assert done["Location"] == reverse("images:collection-show", args=[collection.slug]) + "?licence=none"
        assert Image.objects.filter(licence="CC0 1.0").count() == 1

    def test_where_the_images_changed_meanwhile_it_asks_again(self, manager, collection, entry):
        Image.objects.filter(pk=entry.image_id).update(licence="CC0 1.0", licence_url=LICENCE_URLS["CC0 1.0"])
        answer = client_of(manager).post(edit_address(collection) + "?all=1", {**VALUES, "confirmed": 3})
        assert answer.status_code == 409
        assert "Change 2 images?" in answer.text
        assert not AttributionChange.objects.exists()

    def test_nothing_chosen_and_nothing_to_change_are_said(self, manager, collection):
        client = client_of(manager)
        assert "Choose at least one image." in client.get(edit_address(collection), follow=True).text
        nothing = client.post(edit_address(collection) + "?all=1", {"which": "all", "licence": "CC0 1.0"})
        assert nothing.status_code == 422
        assert "Tick at least one box" in nothing.text
        blank = client.post(edit_address(collection) + "?all=1", {"which": "blank", "change_author": "on"})
        assert "Enter what to fill in." in blank.text
