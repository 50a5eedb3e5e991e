"""World maps: shaded countries, dots where points are, and a drawing that stays small."""

from __future__ import annotations

import math

import numpy as np
import pytest
from django.template.loader import render_to_string

from charts.world import CELL, LegendEntry, MapPoint, dot_outline, world_map
from geography.outlines import HEIGHT, WIDTH, country_paths, project


def test_the_middle_of_the_map_is_where_the_equator_meets_greenwich() -> None:
    x, y = project([0.0, 180.0, -180.0], [0.0, 0.0, 0.0])
    assert (round(x[0]), round(y[0])) == (WIDTH // 2, HEIGHT // 2)
    assert (round(x[1]), round(x[2])) == (WIDTH, 0)


def test_the_projection_keeps_areas() -> None:
    """A square degree covers the same part of the map per cosine of its latitude, wherever it lies."""
    latitudes = np.array([0.0, 15.0, 40.0, 65.0, 85.0])
    size = 1e-4
    for longitude in (0.0, 60.0, -150.0):
        x_0, y_0 = project(np.full(5, longitude), latitudes)
        x_1, y_1 = project(np.full(5, longitude + size), latitudes)
        x_2, y_2 = project(np.full(5, longitude), latitudes + size)
        areas = np.abs((x_1 - x_0) * (y_2 - y_0) - (x_2 - x_0) * (y_1 - y_0)) / np.cos(np.radians(latitudes))
        assert np.allclose(areas / areas[0], 1, atol=1e-3)


def test_every_outline_is_within_the_map() -> None:
    paths = country_paths()
    assert len(paths) > 220
    assert {"IN", "PE", "NZ", "CH", "TZ", "FJ", "RU"} <= paths.keys()
    assert sum(map(len, paths.values())) < 150_000
    for path in paths.values():
        assert path.startswith("M")
        assert path.endswith("z")


def test_shaded_countries_leave_the_plain_land() -> None:
    drawn = world_map(title="Hindi", summary="India.", shades={"IN": "region"})
    assert [shade.kind for shade in drawn.shades] == ["land", "region"]
    assert drawn.shades[1].path == country_paths()["IN"]
    assert country_paths()["IN"] not in drawn.shades[0].path


def test_points_close_together_are_one_larger_dot_of_their_kind() -> None:
    points = [MapPoint(12.0, 77.0, "region")] * 9 + [MapPoint(12.0, 77.0, "country"), MapPoint(-13.5, -72.0, "region")]
    dots = world_map(title="", summary="", points=points).dots
    assert [(dot.kind, dot.count) for dot in dots] == [("region", 9), ("region", 1), ("country", 1)]
    assert dots[0].radius == 3 * dots[1].radius
    x, y = project(-72.0, -13.5)
    assert abs(dots[1].x - x) <= CELL
    assert abs(dots[1].y - y) <= CELL


@pytest.mark.long(reason="at least three others run each of its lines")
def test_five_thousand_dots_are_a_small_drawing() -> None:
    points = [MapPoint(-60 + 0.024 * n, (n * 7.3) % 360 - 180, "region") for n in range(5000)]
    drawn = world_map(
        title="All", summary="5,000 images.", points=points, legend=[LegendEntry("region", "Region", True)]
    )
    assert sum(dot.count for dot in drawn.dots) == 5000
    html = render_to_string("_world_map.html", {"map": drawn, "id": "world"})
    assert len(html.encode()) < 500_000
    assert "style=" not in html


def test_kinds_of_dots_differ_in_their_shape_and_not_in_their_size() -> None:
    def shape(kind: str) -> tuple[str, float]:
        path = dot_outline(kind, 100, 100, 10)
        if "a" in path:
            return "circle", math.pi * 100
        corners = [tuple(map(float, corner.split())) for corner in path.strip("Mz").split("L")]
        pairs = zip(corners, corners[1:] + corners[:1], strict=True)
        return str(len(corners)), abs(sum(x_0 * y_1 - x_1 * y_0 for (x_0, y_0), (x_1, y_1) in pairs)) / 2

    shapes = [shape(kind) for kind in ("region", "country", "continent", "anywhere")]
    assert [name for name, _area in shapes] == ["circle", "4", "3", "12"]
    assert all(abs(area / (math.pi * 100) - 1) < 0.05 for _name, area in shapes)
