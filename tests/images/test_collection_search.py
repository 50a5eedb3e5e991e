"""Finding images in a collection: words, licence, import, and what the apps above register."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from core.images.models import CollectionImage, ImportJob, ImportOutcome, ImportRow
from core.images.selectors.filters import entries_page
from research.inference.models import CaptioningModel, ModelCaption
from research.selection.services.places import locate_images
from tests.clients import client_of
from tests.factories import make_captioner, make_collection, make_image, make_project
from tests.queries import queries_of

pytestmark = pytest.mark.django_db

KEYS = ("harbour", "market", "stairs", "tower")


@pytest.fixture
def collection(manager):
    made = make_collection(0, project=manager.project, is_shared=False)
    about: dict[str, dict[str, Any]] = {
        "harbour": {
            "title": "Boats at dawn",
            "author": "Ada",
            "licence": "CC BY 4.0",
            "latitude": 45.43,
            "longitude": 12.33,
        },
        "market": {"title": "Fruit", "author": "", "licence": "CC BY 4.0", "latitude": 22.57, "longitude": 88.36},
        "stairs": {"title": "", "author": "", "licence": "CC0 1.0"},
        "tower": {"title": "Tall", "author": "Bob", "licence": ""},
    }
    for position, (key, fields) in enumerate(about.items(), start=1):
        CollectionImage.objects.create(
            collection=made,
            image=make_image(key, **fields),
            key=key,
            file_name=f"IMG_{position}.JPG",
            position=position,
        )
    locate_images()
    return made


def answer_to(manager, collection, **asked):
    return client_of(manager).get(reverse("images:collection-show", args=[collection.slug]), asked)


def found(manager, collection, **asked):
    answer = answer_to(manager, collection, **asked)
    assert answer.status_code == 200
    return [item.key for item in answer.context["shown"]]


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ({}, KEYS),
        ({"find": "BOATS ada"}, ["harbour"]),
        ({"find": "boats bob"}, []),
        ({"find": "img_3"}, ["stairs"]),
        ({"find": "%"}, []),
        ({"licence": "none"}, ["tower"]),
        ({"licence": "no-author"}, ["market"]),
        ({"licence": "is:CC BY 4.0"}, ["harbour", "market"]),
        ({"place": "in:IN-WB"}, ["market"]),
        ({"place": "on:EU"}, ["harbour"]),
        ({"place": "unknown", "licence": "none"}, ["tower"]),
    ],
)
def test_images_are_found(manager, collection, asked, keys):
    assert found(manager, collection, **asked) == list(keys)


def test_regions_are_offered_of_the_country_asked_for(manager, collection):
    offered = dict(answer_to(manager, collection, place="in:IN").context["form"].fields["place"].choices)
    assert ("in:IN-WB", "West Bengal") in offered["Regions"]
    assert dict(offered["Countries"]) == {"in:IN": "India", "in:IT": "Italy"}
    assert "Regions" not in dict(answer_to(manager, collection).context["form"].fields["place"].choices)


def test_images_without_an_english_caption_are_found_of_any_model_or_of_one(manager, collection):
    alpha = make_captioner(collection, "Alpha")
    beta = CaptioningModel.objects.create(name="Beta", is_shared=True)
    ModelCaption.objects.filter(model=alpha, image__entries__key="tower").delete()
    ModelCaption.objects.create(model=beta, image=collection.entries.get(key="tower").image, language_id="en", text="x")
    german = collection.entries.get(key="market").image
    ModelCaption.objects.create(model=beta, image=german, language_id="de", text="x")

    assert found(manager, collection, captions="missing") == []
    assert found(manager, collection, captions=f"missing:{alpha.pk}") == ["tower"]
    assert found(manager, collection, captions=f"missing:{beta.pk}") == ["harbour", "market", "stairs"]


def test_captions_of_models_that_others_keep_for_themselves_do_not_count(manager, collection):
    make_captioner(collection, "Alpha", is_shared=False, project=make_project())
    assert found(manager, collection, captions="missing") == list(KEYS)


def test_images_of_one_import_are_found(manager, collection):
    job = ImportJob.objects.create(collection=collection, kind="images", source_name="a.zip")
    for number, key in enumerate(("market", "tower"), start=1):
        image = collection.entries.get(key=key).image
        ImportRow.objects.create(job=job, number=number, name=key, outcome=ImportOutcome.ADDED, image=image)
    elsewhere = ImportJob.objects.create(collection=make_collection(0), kind="images", source_name="b.zip")
    ImportRow.objects.create(job=elsewhere, number=1, name="x", outcome=ImportOutcome.ADDED, image=image)

    assert found(manager, collection, **{"import": job.pk}) == ["market", "tower"]
    assert found(manager, collection, **{"import": job.pk, "licence": "none"}) == ["tower"]
    assert found(manager, collection, **{"import": elsewhere.pk}) == []


@pytest.mark.parametrize(
    "asked",
    [
        {"licence": "MIT"},
        {"find": "a\0"},
        {"place": "in:XX"},
        {"place": "in:IT,on:EU"},
        {"captions": "missing:999"},
        {"import": "9" * 30},
        {"find": "x" * 201},
    ],
)
def test_a_filter_that_cannot_be_applied_is_refused_with_the_reason(manager, collection, asked):
    answer = answer_to(manager, collection, **asked)
    assert answer.status_code == 422
    assert answer.context["form"].errors
    assert answer.context["shown"] == []


def test_pages_keep_the_search_and_the_order(manager, collection, monkeypatch):
    monkeypatch.setattr("core.images.views.collections.IMAGES_PER_PAGE", 2)
    assert found(manager, collection, page=2) == ["stairs", "tower"]
    first = answer_to(manager, collection, licence="is:CC BY 4.0")
    assert "2 images found" in first.text
    assert entries_page(collection.entries.all(), number="99", per_page=3).object_list[0].key == "tower"


def test_the_number_of_queries_does_not_grow_with_the_images(manager, collection, django_assert_num_queries):
    make_captioner(collection, "Alpha")
    client = client_of(manager)
    address = reverse("images:collection-show", args=[collection.slug])
    few = queries_of(lambda: client.get(address, {"licence": "is:CC BY 4.0"}))
    for number in range(30):
        image = make_image(f"more {number}", licence="CC BY 4.0")
        CollectionImage.objects.create(collection=collection, image=image, key=f"more-{number}", position=10 + number)
    with django_assert_num_queries(len(few)):
        answer = client.get(address, {"licence": "is:CC BY 4.0"})
    assert len(answer.context["shown"]) == 32
