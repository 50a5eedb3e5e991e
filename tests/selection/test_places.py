"""Where images were taken: looked up and kept, and on pages."""

from __future__ import annotations

from typing import Any

import pytest
import shapely
from django.db import IntegrityError
from django.urls import reverse
from django.utils import timezone

from core.images.models import Collection, Image
from core.people.models import User
from geography.borders import shipped_borders
from office.dashboard.tasks import sweep_changes
from research.selection.models import ImagePlace, ImagePlaceCode, ImportedRegion, RegionFile
from research.selection.services import places
from research.selection.services.places import current_borders, locate_images
from research.selection.tasks import locate_collection
from tests.clients import client_of
from tests.concurrency import together
from tests.factories import images_of, make_collection, make_image, make_project, make_user

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


POSITIONS = [(45.4271234, 12.3281234), (44.6161234, 33.5251234), (0.5, -30.0), (0.0, 0.0), (None, None)]


@pytest.fixture
def manager(db: None) -> User:
    manager = make_user("mara")
    make_project(manager=manager)
    return manager


@pytest.fixture
def collection(manager: User) -> Collection:
    collection = make_collection(len(POSITIONS))
    for image, (latitude, longitude) in zip(images_of(collection), POSITIONS, strict=True):
        Image.objects.filter(pk=image).update(latitude=latitude, longitude=longitude)
    return collection


def page_of(user: User, collection: Collection, query: str = "") -> str:
    answer = client_of(user).get(reverse("corpora:collection-places", args=[collection.slug]) + query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_manager_sees_places_by_name_and_what_is_wrong(manager: User, collection: Collection) -> None:
    locate_images()

    page = page_of(manager, collection)

    assert "Venice, Veneto, Italy, Europe" in " ".join(page.split())
    assert "Russia / Ukraine" in page
    assert "The coordinates are 0, 0" in page
    assert "At sea" in page
    problems = page_of(manager, collection, "?show=problems")
    assert "The coordinates are 0, 0" in problems
    assert "Veneto" not in problems


def test_pages_of_a_collection_never_show_coordinates(manager: User, collection: Collection) -> None:
    locate_images()
    pages = page_of(manager, collection), client_of(manager).get(f"/collections/{collection.slug}/").content.decode()

    for page in pages:
        for number in ("45.427", "12.328", "44.616", "33.525"):
            assert number not in page


def test_places_can_be_looked_up_at_once(
    manager: User,
    collection: Collection,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    Collection.objects.filter(pk=collection.pk).update(project=manager.memberships.get().project, is_shared=False)
    monkeypatch.setattr(locate_collection, "delay", locate_collection)
    assert "Look up places now" in page_of(manager, collection)

    with django_capture_on_commit_callbacks(execute=True):
        answer = client_of(manager).post(reverse("corpora:collection-locate", args=[collection.slug]))

    assert answer.status_code == 302
    assert ImagePlace.objects.count() == 4
    assert "Look up places now" not in page_of(manager, collection)
