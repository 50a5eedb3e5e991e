"""Columns side by side: what stands at the axis."""

from __future__ import annotations

import pytest

from charts.columns import column_plot


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
