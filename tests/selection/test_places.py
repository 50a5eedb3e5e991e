"""Places of images: looked up, kept up to date, and safe with several at work."""

from __future__ import annotations

import pytest
import shapely
from django.db import IntegrityError
from django.utils import timezone

from core.images.models import Image
from geography.borders import shipped_borders
from office.dashboard.tasks import sweep_changes
from research.selection.models import ImagePlace, ImagePlaceCode, ImportedRegion, RegionFile
from research.selection.services import places
from research.selection.services.places import current_borders, locate_images
from research.selection.tasks import locate_collection
from tests.concurrency import together
from tests.factories import images_of, make_collection, make_image

VENICE, CRIMEA, SEA = (45.427, 12.328), (44.616, 33.525), (0.5, -30.0)


def image_at(position: tuple[float, float]) -> Image:
    return make_image(latitude=position[0], longitude=position[1])


def codes_of(image: Image) -> set[str]:
    return set(ImagePlaceCode.objects.filter(image=image).values_list("code", flat=True))


def import_box(code: str, *box: float) -> None:
    file = RegionFile.objects.create(name=code, sha256=code, imported_at=timezone.now())
    ImportedRegion.objects.create(file=file, code=code, shape=shapely.to_wkb(shapely.box(*box)))


@pytest.mark.django_db
def test_an_image_gets_its_countries_regions_and_continent_with_the_version_of_the_borders() -> None:
    venice, crimea, sea = image_at(VENICE), image_at(CRIMEA), image_at(SEA)

    assert locate_images() == 3

    place = ImagePlace.objects.get(image=venice)
    assert (place.countries, place.regions, place.continent) == ("IT", "IT-VE IT-34", "EU")
    assert (place.borders, place.problem) == (shipped_borders().version, "")
    assert codes_of(venice) == {"IT", "IT-VE", "IT-34"}
    assert codes_of(crimea) >= {"RU", "UA", "UA-40"}
    assert codes_of(sea) == set()
    assert ImagePlace.objects.get(image=sea).continent == ""


@pytest.mark.django_db
def test_nothing_is_looked_up_twice_until_coordinates_or_borders_change() -> None:
    image, other = image_at(VENICE), image_at(CRIMEA)
    make_image()
    locate_images()

    assert locate_images() == 0

    Image.objects.filter(pk=image.pk).update(latitude=SEA[0], longitude=SEA[1])
    assert locate_images() == 1
    assert codes_of(image) == set()

    import_box("TATARS", 33, 44, 36, 46)
    assert locate_images() == 2
    assert "TATARS" in codes_of(other)
    assert ImagePlace.objects.get(image=other).borders == current_borders().version != shipped_borders().version


@pytest.mark.django_db
def test_a_place_goes_with_its_coordinates() -> None:
    image = image_at(VENICE)
    locate_images()
    Image.objects.filter(pk=image.pk).update(latitude=None, longitude=None)

    locate_images()

    assert not ImagePlace.objects.exists()
    assert not ImagePlaceCode.objects.exists()


@pytest.mark.django_db
def test_zero_and_zero_is_a_problem_and_no_place() -> None:
    image = image_at((0.0, 0.0))

    locate_images()

    assert ImagePlace.objects.get(image=image).problem == "null_island"
    assert codes_of(image) == set()


@pytest.mark.django_db
def test_one_collection_can_be_located_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    collection, elsewhere = make_collection(3), image_at(VENICE)
    Image.objects.filter(pk__in=images_of(collection)).update(latitude=VENICE[0], longitude=VENICE[1])
    monkeypatch.setattr(places, "AT_ONCE", 2)

    locate_collection(collection.pk)
    locate_collection(0)

    assert set(ImagePlace.objects.values_list("pk", flat=True)) == set(images_of(collection))
    sweep_changes()
    assert ImagePlace.objects.filter(image=elsewhere).exists()


@pytest.mark.django_db
def test_an_image_that_moved_meanwhile_keeps_no_wrong_place() -> None:
    image = image_at(VENICE)
    positions = [(image.pk, *CRIMEA)]

    stored = places._store(positions, shipped_borders().locate([CRIMEA[0]], [CRIMEA[1]]), "v")

    assert stored == 0
    assert not ImagePlace.objects.exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_several_who_look_up_the_same_images_leave_each_with_one_place() -> None:
    images = [image_at(VENICE) for _ in range(6)]
    current_borders()

    together(lambda _: locate_images(), range(4))

    assert ImagePlace.objects.count() == len(images)
    assert all(codes_of(image) == {"IT", "IT-VE", "IT-34"} for image in images)
    assert ImagePlaceCode.objects.count() == 3 * len(images)


@pytest.mark.postgres
@pytest.mark.django_db
def test_an_image_has_a_code_once() -> None:
    image = image_at(VENICE)
    locate_images()

    with pytest.raises(IntegrityError, match=r"(?i)unique"):
        ImagePlaceCode.objects.create(image=image, code="IT")
