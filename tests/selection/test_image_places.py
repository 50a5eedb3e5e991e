"""Places of images are looked up once and again when their coordinates or the borders change."""

from __future__ import annotations

import pytest

from core.images.models import CollectionImage
from research.selection.models import ImagePlace
from research.selection.services.places import current_borders, locate_images
from tests.factories import make_collection, make_image

pytestmark = pytest.mark.django_db


def test_images_with_coordinates_get_a_place_and_its_codes():
    image, nowhere = make_image(latitude=22.572, longitude=88.364), make_image()

    assert locate_images() == 1

    assert (image.place.countries, image.place.regions, image.place.continent) == ("IN", "IN-WB", "AS")
    assert image.place.borders == current_borders().version
    assert sorted(image.place_codes.values_list("code", flat=True)) == ["IN", "IN-WB"]
    assert not ImagePlace.objects.filter(image=nowhere).exists()


def test_a_place_is_looked_up_again_only_when_coordinates_or_borders_changed():
    image = make_image(latitude=22.572, longitude=88.364)
    locate_images()
    assert locate_images() == 0

    type(image).objects.update(latitude=48.857, longitude=2.352)
    assert locate_images() == 1
    image.refresh_from_db()
    assert image.place.countries == "FR"
    assert "IN" not in image.place_codes.values_list("code", flat=True)

    ImagePlace.objects.update(borders="older")
    assert locate_images() == 1


def test_coordinates_that_cannot_be_right_are_kept_as_a_problem_without_a_place():
    image = make_image(latitude=0, longitude=0)
    locate_images()

    assert (image.place.problem, image.place.countries) == ("null_island", "")


def test_only_the_images_of_a_collection_are_looked_up_if_one_is_named():
    collection, other = make_collection(0), make_image(latitude=1, longitude=1)
    image = make_image(latitude=2, longitude=2)
    CollectionImage.objects.create(collection=collection, image=image, key="a", position=1)

    assert locate_images(collection=collection) == 1
    assert not ImagePlace.objects.filter(image=other).exists()
