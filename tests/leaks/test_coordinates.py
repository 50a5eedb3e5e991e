"""Nothing that annotators can reach follows from where images were taken, but the names of places.

Raters, players and annotators find no coordinate of any image anywhere: their walks look for `coordinates.WORDS`, too.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from django.http import HttpRequest, HttpResponse

from annotation.services.releases import build
from annotation.services.sites import build_site
from charts.world import CELL, MapPoint, world_map
from core.images.models import Image
from research.selection.models import ImagePlace, PlaceLevelChoice
from tests.annotation.released import UNTIL, Campaign
from tests.leaks import coordinates
from tests.leaks.addresses import routes
from tests.leaks.annotators import UNSTEADY, World, in_screen_2, make_sizes
from tests.leaks.answers import Answer
from tests.leaks.walk import Extent, Walk, extent_for
from tests.selection.placing import choose

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

KINDS = {".webp": "image/webp", ".jpg": "image/jpeg", ".png": "image/png", ".zip": "application/zip"}
WITH_PLACES = (
    *("annotation:batch-show", "annotation:caption-", "annotation:release", "annotation:work-", "api:batch-show"),
    *("api:image-", "api:release", "api:selection", "api:work-", "corpora:", "images:image-", "people:data-download"),
)
"""How the names begin of routes that show images, or what was chosen by place."""


def walk_of(world: World, extent: Extent) -> Walk:
    in_screen_2(world)
    images = Image.objects.filter(collections=world.collection)
    choose(world.rounds["A"].project, "de", dict.fromkeys(images, PlaceLevelChoice.REGION), collection=None)
    walk = world.walk(extent)
    walk.secrets = coordinates.secrets()
    walk.not_compared = UNSTEADY
    return walk


def test_an_annotator_is_shown_the_same_wherever_in_its_region_an_image_was_taken(
    world: World, pytestconfig: pytest.Config
) -> None:
    walk = walk_of(world, replace(extent_for(pytestconfig), routes=WITH_PLACES)).run()
    walk.check()
    assert {"annotation:work-show", "images:image-show", "people:data-download"} <= walk.reached()


def test_all_that_shows_images_or_places_is_there() -> None:
    for beginning in WITH_PLACES:
        assert any(route.name.startswith(beginning) for route in routes()), beginning


def leak_to_a_degree(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"{round(ImagePlace.objects.latest('pk').longitude)}")


def test_a_place_told_to_a_degree_is_found(world: World) -> None:
    coordinates.place_all()
    walk_of(world, Extent(("leak",))).check_finds(leak_to_a_degree)


def test_coordinates_in_the_metadata_of_a_file_are_found() -> None:
    content = coordinates.original_of("a harbour")
    answer = Answer("GET", "/", 200, {"Content-Type": "image/jpeg"}, "", content, frozenset(), False)
    assert any("23.0, 6.864" in found for found in coordinates.secrets().found_in(answer.text))


def test_dots_of_a_map_stand_for_cells_of_hundreds_of_kilometres() -> None:
    """Whoever sees a dot cannot tell from it where within a cell an image was taken."""
    steps = np.linspace(0, 2, 21)
    for north, east in ((0, 10), (17, 78), (45, 10), (-40, 170)):
        points = [MapPoint(north + up, east + right, "region") for up in steps for right in steps]
        dots = world_map(title="", summary="", points=points).dots
        assert len(dots) <= 4
        assert all((dot.x % CELL, dot.y % CELL) == (CELL // 2, CELL // 2) for dot in dots)
        assert sum(dot.count for dot in dots) == len(points)


@pytest.mark.parametrize("is_published", [False, True], ids=["kept", "published"])
def test_released_files_and_pages_have_coordinates_only_if_a_manager_published_them(
    media: Path, tmp_path: Path, is_published: bool
) -> None:
    campaign = Campaign()
    coordinates.place_all()
    for image in Image.objects.all():
        make_sizes(image.public_id, "A harbour")
    release = campaign.start(publish_coordinates=is_published)
    build(release_id=release.pk, clock=lambda: UNTIL)
    release.refresh_from_db()
    build_site(release=release, folder=tmp_path / "site")

    stored = media / release.folder
    released, pages = set(with_coordinates(stored)), set(with_coordinates(tmp_path / "site"))

    assert bool(released) is is_published
    assert pages == set()
    assert {path.suffix for path in (tmp_path / "site").rglob("*")} >= {".html", ".webp"}
    assert any(stored.rglob("*.jsonl"))


def with_coordinates(folder: Path) -> Iterator[Path]:
    """Find the files in which coordinates are, also packed or in the metadata of images."""
    for path in folder.rglob("*"):
        if path.is_file():
            kind = KINDS.get(path.suffix, "text/plain")
            content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            answer = Answer("GET", path.name, 200, {"Content-Type": kind}, "", content, frozenset(), False)
            if coordinates.secrets().found_in(answer.text):
                yield path
