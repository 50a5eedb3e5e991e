"""Plots and maps: where things stand on them, in every language, and that nothing is told by the image alone."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
import pytest
from django.template.loader import render_to_string
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from charts import texts
from charts.columns import column_plot
from charts.plots import (
    IntervalEstimate,
    NumberedDot,
    PlotPoint,
    bar_plot,
    dot_plot,
    range_plot,
    round_end,
    scatter_plot,
)
from charts.world import CELL, LegendEntry, MapPoint, dot_outline, world_map
from crosslens_metrics.reports.comparison_figures import UndefinedComparison
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.undefined import UndefinedReason
from geography.outlines import HEIGHT, WIDTH, country_paths, project

BARS = [("BETTER", 6, "better"), ("SIMILAR", 3, "similar"), ("WORSE", 0, "worse")]
ESTIMATES = [
    IntervalEstimate("Africa", "+20 (+5 to +35)", 20.0, Interval(5.0, 35.0)),
    IntervalEstimate("Asia & <Oceania>", "−4", -4.0, None),
    IntervalEstimate("unknown", "undefined", None, None),
]
DOTS = [
    ("German", [NumberedDot(1, "Rich", 50.0, "50.0"), NumberedDot(2, "Brief", 25.0, "25.0")]),
    ("Cuzco Quechua", []),
]
POINTS = [PlotPoint(20.0, 5.0, "core"), PlotPoint(-10.0, -2.5, "rest"), PlotPoint(0.0, 0.0, "rest")]


def percent(place: str) -> float:
    assert place.endswith("%")
    return float(place.removesuffix("%"))


class TestBars:
    def test_the_longest_bar_has_the_highest_count_and_the_others_are_in_proportion(self):
        widths = [percent(bar["width"]) for bar in bar_plot("", BARS)["bars"]]
        assert widths == [46.0, 23.0, 0.0]

    def test_nothing_counted_gives_bars_without_length(self):
        assert {bar["width"] for bar in bar_plot("", [("BETTER", 0, "better")])["bars"]} == {"0.00%"}

    def test_every_count_is_in_the_text_alternative(self):
        assert bar_plot("", BARS)["summary"] == "BETTER: 6; SIMILAR: 3; WORSE: 0"


class TestRanges:
    def test_zero_stands_in_the_middle_and_values_in_proportion(self):
        plot = range_plot("", ESTIMATES, reference=0)
        (reference,) = [tick for tick in plot["x_ticks"] if tick["is_reference"]]
        assert (reference["label"], percent(reference["at"])) == ("0", 50.0)
        africa, asia, unknown = plot["rows"]
        assert percent(africa["low_x"]) < percent(africa["x"]) < percent(africa["high_x"])
        assert (percent(africa["x"]) - 50) / (50 - percent(asia["x"])) == pytest.approx(5, abs=0.01)
        assert (asia["low_x"], asia["high_x"]) == ("", "")
        assert (unknown["x"], unknown["low_x"]) == ("", "")

    @given(st.lists(st.tuples(st.floats(-1000, 1000), st.floats(0, 50), st.floats(0, 50)), min_size=1, max_size=5))
    def test_nothing_stands_outside_the_axis_and_ticks_are_few(self, values):
        estimates = [IntervalEstimate("x", "", value, Interval(value - a, value + b)) for value, a, b in values]
        plot = range_plot("", estimates, reference=0)
        for row in plot["rows"]:
            for place in (row["x"], row["low_x"], row["high_x"]):
                assert 2 <= percent(place) <= 98
        assert 3 <= len(plot["x_ticks"]) <= 13
        assert sum(tick["is_reference"] for tick in plot["x_ticks"]) == 1

    def test_estimates_that_are_all_at_the_reference_still_have_an_axis(self):
        plot = range_plot("", [IntervalEstimate("x", "", 0.0, None)], reference=0)
        assert percent(plot["rows"][0]["x"]) == 50.0

    def test_ticks_are_written_as_in_the_language_of_the_page(self):
        with translation.override("de"):
            labels = [
                tick["label"] for tick in range_plot("", [IntervalEstimate("x", "", 0.9, None)], reference=0)["x_ticks"]
            ]
        assert labels == ["−1,0", "−0,5", "0,0", "0,5", "1,0"]

    def test_given_ends_hold(self):
        plot = range_plot("", [IntervalEstimate("x", "", 50.0, Interval(0, 100))], reference=50, ends=(0, 100), step=25)
        assert (plot["rows"][0]["low_x"], plot["rows"][0]["high_x"]) == ("2.00%", "98.00%")
        assert [tick["label"] for tick in plot["x_ticks"]] == ["0", "25", "50", "75", "100"]
        assert [tick["label"] for tick in plot["x_ticks"] if tick["is_reference"]] == ["50"]

    def test_long_names_are_broken_into_lines_and_no_two_lines_meet(self):
        plot = range_plot(
            "",
            [IntervalEstimate("a model with a very long name → another such one, German", "+1", 1.0, None)] * 2,
            reference=0,
        )
        lines = [line for row in plot["rows"] for line in row["lines"]]
        assert [line["text"] for line in plot["rows"][0]["lines"]] == [
            "a model with a very long name → another",
            "such one, German",
            "+1",
        ]
        places = sorted([line["y"] for line in lines] + [row["track_y"] for row in plot["rows"]])
        assert min(after - before for before, after in pairwise(places)) >= 8
        assert places[-1] < plot["axis_y"] < plot["height"]

    def test_short_labels_leave_room_beside_the_tracks(self):
        plot = range_plot("", [IntervalEstimate("p1", "", 0.0, None)], reference=0, has_short_labels=True)
        assert percent(plot["start_x"]) == 36.0


class TestDots:
    def test_dots_stand_in_proportion_and_the_first_lies_above(self):
        plot = dot_plot("", DOTS, ends=(0, 50))
        second, first = plot["rows"][0]["marks"]
        assert (first["number"], first["x"], second["number"]) == (1, "98.00%", 2)
        assert percent(second["x"]) == pytest.approx((98 + 36) / 2)
        assert [tick["label"] for tick in plot["x_ticks"]] == ["0", "10", "20", "30", "40", "50"]

    def test_every_value_is_in_the_text_alternative(self):
        assert dot_plot("", DOTS, ends=(0, 50))["summary"] == "German: Rich 50.0, Brief 25.0"

    @given(st.floats(0, 1e5))
    def test_an_axis_holds_the_highest_and_is_not_much_longer(self, highest):
        end = round_end(highest)
        assert highest <= end * (1 + 1e-9)
        assert end <= max(1.0, 1.6 * highest)


class TestScatter:
    def test_points_stand_in_proportion_around_zero(self):
        plot = scatter_plot("", POINTS, summary="", x_name="", y_name="")
        right, left, middle = plot["points"]
        x, y = percent(middle["x"]), float(middle["y"])
        assert (percent(right["x"]) - x) == pytest.approx(2 * (x - percent(left["x"])), abs=0.02)
        assert (y - float(right["y"])) == pytest.approx(2 * (float(left["y"]) - y), abs=0.2)
        assert [tick["label"] for tick in plot["x_ticks"] if tick["is_reference"]] == ["0"]
        assert [tick["at"] for tick in plot["y_ticks"] if tick["is_reference"]] == [middle["y"]]

    def test_a_plot_without_points_still_has_axes(self):
        plot = scatter_plot("", [], summary="", x_name="", y_name="")
        assert len(plot["x_ticks"]) >= 3
        assert len(plot["y_ticks"]) >= 3


@pytest.mark.parametrize("language", ["en", "ar", "de"])
@pytest.mark.parametrize(
    ("template", "plot"),
    [
        ("_bar_plot.html", bar_plot("Judgements", BARS)),
        ("_range_plot.html", range_plot("Gain", ESTIMATES, reference=0)),
        ("_dot_plot.html", dot_plot("Scores", DOTS, ends=(0, 50))),
        ("_scatter_plot.html", scatter_plot("Gains", POINTS, summary="<Oceania>: 3", x_name="ΔSxS", y_name="ΔCIDEr")),
    ],
)
def test_the_markup_has_a_title_and_a_text_and_needs_no_style(language, template, plot):
    with translation.override(language):
        svg = render_to_string(template, {"plot": plot, "id": "one"})
    assert 'role="img" aria-labelledby="one-title one-summary"' in svg
    assert f'<title id="one-title">{plot["title"]}</title>' in svg
    assert "style" not in svg
    assert "<Oceania>" not in svg
    for name in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height"):
        for value in re.findall(rf' {name}="([^"]*)"', svg):
            assert re.fullmatch(r"\d+(\.\d+)?%?", value), f"{name}={value}"


class TestShown:
    @pytest.mark.parametrize(
        ("value", "text"), [(0.0, "0.0"), (-0.04, "0.0"), (0.06, "+0.1"), (12.36, "+12.4"), (-0.06, "−0.1")]
    )
    def test_a_zero_has_no_sign(self, value, text):
        assert texts.signed_number(value) == text

    def test_numbers_are_written_as_in_the_language_of_the_page(self):
        with translation.override("de"):
            assert texts.signed_number(-1234.56) == "−1234,6"
            assert texts.percentage(12.5) == "12,5%"

    @pytest.mark.parametrize(("p", "text"), [(1.0, "p = 1.0000"), (0.0312, "p = 0.0312"), (1e-9, "p < 0.0001")])
    def test_small_probabilities_are_not_called_zero(self, p, text):
        assert texts.p_value(p) == text

    def test_what_is_undefined_says_why(self):
        undefined = UndefinedComparison(UndefinedReason.NO_IMAGES)
        assert texts.interval_text(undefined) == ""
        assert texts.reason_undefined(1.0, undefined) == undefined.message
        assert texts.reason_undefined(1.0) == ""


@pytest.mark.parametrize("highest", [0, 1, 2, 3, 7, 10, 11, 15, 49, 99, 100, 101, 3599])
def test_an_axis_of_counts_names_whole_counts_alone_and_holds_the_highest(highest: int) -> None:
    plot = column_plot("Captions per day", [("1 May", highest)], summary="")
    half, end = [int(line.text.replace(",", "")) for line in plot.lines]
    assert end == 2 * half >= max(2, highest)
    assert end <= max(2, 2 * highest)


def test_columns_of_counts_are_as_tall_as_their_share_of_the_axis() -> None:
    plot = column_plot("Captions per day", [("1 May", 15), ("2 May", 0), ("3 May", 5)], summary="", height=160)
    assert [(mark.name, mark.value, mark.height) for mark in plot.columns] == [
        ("1 May", "15", "120.0"),
        ("3 May", "5", "40.0"),
    ]
    assert [line.text for line in plot.lines] == ["10", "20"]


def test_an_axis_of_percent_may_have_a_half() -> None:
    plot = column_plot("Lengths", [("0–9", 5.0)], summary="", as_percent=True)
    assert [line.text for line in plot.lines] == ["2.5%", "5%"]


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
