"""Nothing that annotators can reach follows from where images were taken, but the names of places.

Raters, players and annotators find no coordinate of any image anywhere: their walks look for `coordinates.WORDS`, too.
"""

from __future__ import annotations

import numpy as np
import pytest
from django.http import HttpRequest, HttpResponse

from charts.world import CELL, Point, world_map
from corpora.models import ImagePlace, Level
from images.models import Image
from tests.corpora.placing import choose
from tests.leaks import coordinates
from tests.leaks.addresses import routes
from tests.leaks.annotators import UNSTEADY, World, in_screen_2
from tests.leaks.answers import Answer
from tests.leaks.walk import Extent, Walk, extent_for

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only]

WITH_PLACES = (
    *("annotation:batch-show", "annotation:caption-", "annotation:release", "annotation:work-", "api:batch-show"),
    *("api:image-", "api:release", "api:selection", "api:work-", "corpora:", "images:image-", "people:data-download"),
)
"""How the names begin of routes that show images, or what was chosen by place."""


def walk_of(world: World, extent: Extent) -> Walk:
    in_screen_2(world)
    images = Image.objects.filter(collections=world.collection)
    choose(world.rounds["A"].project, "de", dict.fromkeys(images, Level.REGION), collection=None)
    walk = world.walk(extent)
    walk.secrets = coordinates.secrets()
    walk.not_compared = UNSTEADY
    return walk


@pytest.mark.slow(reason="each address is asked again with the images elsewhere")
def test_an_annotator_is_shown_the_same_wherever_in_its_region_an_image_was_taken(
    world: World, pytestconfig: pytest.Config
) -> None:
    walk = walk_of(world, extent_for(pytestconfig, WITH_PLACES)).run()
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
        points = [Point(north + up, east + right, "region") for up in steps for right in steps]
        dots = world_map(title="", summary="", points=points).dots
        assert len(dots) <= 4
        assert all((dot.x % CELL, dot.y % CELL) == (CELL // 2, CELL // 2) for dot in dots)
        assert sum(dot.count for dot in dots) == len(points)
