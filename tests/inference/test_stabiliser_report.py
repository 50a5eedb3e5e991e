"""How many stabilisers a pivot-stabilised model has for one image: counted, and told without their words."""

from __future__ import annotations

import csv
import io
from html import unescape

import pytest
from django.urls import reverse

from core.images.models import CollectionImage
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel, ModelCaption
from research.inference.selectors.models import tallies
from tests.annotation.submitting import take
from tests.factories import make_captioner, make_collection, make_user
from tests.inference.watched import make_busy_researcher

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("researcher")]

LANGUAGES = ("en", "de", "ar")


@pytest.fixture
def model():
    return CaptioningModel.objects.create(is_shared=True, name="Pivot", is_pivot=True)


def describe(model, entry, *stabilisers):
    ModelCaption.objects.bulk_create(
        ModelCaption(
            model=model, image_id=entry.image_id, language_id=tag, text=f"{tag} {entry.key}", stabiliser=stabiliser
        )
        for tag, stabiliser in zip(LANGUAGES, stabilisers, strict=False)
    )


def text_of(client, model, **asked):
    response = client.get(reverse("inference:model-stabilisers", args=[model.pk]), asked)
    assert response.status_code == 200
    return unescape(response.text)


def rows_of(client, model, collection):
    response = client.get(reverse("inference:stabilisers-export", args=[model.pk, collection.slug]))
    assert response.status_code == 200
    return list(csv.DictReader(io.StringIO(b"".join(response).decode("utf-8-sig"))))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_different_stabilisers_of_an_image_are_counted_by_collection(client, model):
    collection, other = make_collection(images=4), make_collection(images=0)
    one, two, three, _none = collection.entries.order_by("position")
    describe(model, one, "a cat", "a cat", "a cat")
    describe(model, two, "a dog", "a hound", "a dog")
    describe(model, three, "a car", "a lorry", "a van")
    # Equal words of two images are two stabilisers; other models', and captions without one, are none.
    describe(CaptioningModel.objects.create(is_shared=True, name="Other", is_pivot=True), one, "x", "y", "z")
    make_captioner(collection)
    CollectionImage.objects.create(collection=other, image=one.image, key="again", position=1)

    by_collection = {tally.collection: tally for tally in tallies(model, make_user(is_superuser=True, is_staff=True))}
    assert {tally.collection: dict(tally.images) for tally in by_collection.values()} == {
        collection: {1: 1, 2: 1, 3: 1},
        other: {1: 1},
    }
    tally = by_collection[collection]
    assert (tally.mean, tally.languages, tally.several) == (2, 3, 2)
    page = text_of(client, model)
    assert "1 stabiliser: 1; 2 stabilisers: 1; 3 stabilisers: 1" in page
    assert "33.3%" in page
    assert "1 stabiliser: 1</desc>" in text_of(client, model, collection=other.slug)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_file_has_a_line_for_each_image_and_no_words(client, model):
    collection = make_collection(images=3)
    one, two, _none = collection.entries.order_by("position")
    describe(model, one, "a cat", "a cat")
    describe(model, two, "a dog", "a hound", "a dog")
    rows = rows_of(client, model, collection)
    assert [tuple(row.values()) for row in rows] == [
        (collection.slug, one.key, "2", "1"),
        (collection.slug, two.key, "3", "2"),
    ]
    assert rows_of(client, model, make_collection()) == []


@pytest.mark.long(reason="at least three others run each of its lines")
def test_of_an_image_assigned_the_file_has_no_figures(client, model):
    collection = make_collection(images=3)
    for entry in collection.entries.all():
        describe(model, entry, "a cat", "a dog")
    person, round = make_busy_researcher(collection)
    (item,) = take(round, person).items.all()
    mine = collection.entries.get(image=item.image_id).key
    assert {row["stabilisers"] for row in rows_of(client, model, collection)} == {"2"}
    client.force_login(person)
    figures = {row["image"]: (row["languages"], row["stabilisers"]) for row in rows_of(client, model, collection)}
    assert figures.pop(mine) == ("", "")
    assert list(figures.values()) == [("2", "2")] * 2


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("stabilisers", "says"),
    [(("a cat", "a cat", "a cat"), "exactly one stabiliser."), (("a cat", "a dog", "a cat"), "but some images")],
)
def test_with_consistent_decoding_it_is_exactly_one_or_the_page_says_that_it_is_not(client, model, stabilisers, says):
    describe(model, make_collection(images=1).entries.get(), *stabilisers)
    assert "Decoding is consistent" not in text_of(client, model)
    model.decoding = Decoding(is_consistent=True).stored()
    model.save()
    page = text_of(client, model)
    assert "Decoding is consistent" in page
    assert says in page


def test_without_a_stabiliser_it_says_why(client, model):
    assert "Start a run" in text_of(client, model)
    assert "not registered as pivot-stabilised" in text_of(client, make_captioner(make_collection()))
