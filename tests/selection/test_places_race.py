"""Several who look up the same images at the same moment: each image gets one place, and nobody fails."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import IntegrityError

from core.images.models import Image
from geography.borders import shipped_borders
from research.selection.models import ImagePlace, ImagePlaceCode
from research.selection.services import places
from research.selection.services.places import locate_images
from tests.concurrency import together, together_with_errors
from tests.factories import make_image

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]

VENICE, CRIMEA, HYDERABAD = (45.427, 12.328), (44.616, 33.525), (17.385, 78.487)
LOOKED_UP = {"IT", "IT-VE", "IT-34", "RU", "UA", "UA-40", "IN", "IN-TG"}


@pytest.fixture
def images() -> list[Image]:
    shipped_borders().locate([0.1], [0.1])
    return [make_image(latitude=at[0], longitude=at[1]) for at in (VENICE, CRIMEA, HYDERABAD)]


def all_read_first(monkeypatch: pytest.MonkeyPatch, callers: int) -> None:
    """Let nobody store anything before everybody has read which images have no place."""
    barrier, mine, real = threading.Barrier(callers), threading.local(), places._outdated

    def read(*arguments: Any) -> Any:
        found = real(*arguments)
        if not hasattr(mine, "has_read"):
            mine.has_read = True
            assert found
            barrier.wait(30)
        return found

    monkeypatch.setattr(places, "_outdated", read)


def check(images: list[Image]) -> None:
    assert ImagePlace.objects.count() == len(images)
    codes = list(ImagePlaceCode.objects.values_list("image", "code"))
    assert len(codes) == len(set(codes))
    assert {code for _, code in codes} == LOOKED_UP


def test_all_who_look_up_the_same_images_store_each_place_once(images, monkeypatch) -> None:
    all_read_first(monkeypatch, 3)

    done = together(lambda _: locate_images(), range(3))

    assert done == [3, 3, 3]
    check(images)


def test_who_read_an_image_before_it_moved_does_not_store_where_it_was(images, monkeypatch) -> None:
    read, moved, real = threading.Event(), threading.Event(), places._store

    def store(*arguments: Any) -> int:
        read.set()
        assert moved.wait(30)
        return real(*arguments)

    def move(_: object) -> None:
        assert read.wait(30)
        Image.objects.filter(pk=images[0].pk).update(latitude=HYDERABAD[0], longitude=HYDERABAD[1])
        moved.set()

    monkeypatch.setattr(places, "_store", store)
    together(lambda work: work(None), [lambda _: locate_images(), move])

    assert not ImagePlace.objects.filter(image=images[0]).exists()
    assert locate_images() == 1
    assert ImagePlace.objects.get(image=images[0]).countries == "IN"


def test_control_without_the_lock_two_delete_and_insert_the_same_codes(images, monkeypatch) -> None:
    both_have_deleted = threading.Barrier(2)
    [place] = shipped_borders().locate(*([each] for each in VENICE))

    def naive(_: int) -> None:
        ImagePlaceCode.objects.filter(image=images[0]).delete()
        both_have_deleted.wait(30)
        ImagePlaceCode.objects.bulk_create(
            ImagePlaceCode(image=images[0], code=code) for code in (*place.countries, *place.regions)
        )

    outcomes = together_with_errors(naive, range(2))

    [refused] = [one for one in outcomes if isinstance(one, BaseException)]
    assert isinstance(refused, IntegrityError)
