"""What a clock on the wall shows, and the instant that is meant by it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gapgame.rules.clock import (
    AmbiguousTimeError,
    ClockError,
    NonexistentTimeError,
    instant_of,
    is_second_of_two,
    local_time,
    time_zones,
)
from gapgame.templatetags.times import time_left
from tests.factories import NOW


def utc(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


def wall(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute)  # noqa: DTZ001 - what a clock shows has no zone


@pytest.mark.parametrize(
    ("time_zone", "shown", "instant"),
    [
        ("UTC", (2026, 5, 31, 20, 0), (2026, 5, 31, 20, 0)),
        ("Asia/Kolkata", (2026, 5, 31, 20, 0), (2026, 5, 31, 14, 30)),
        ("America/St_Johns", (2026, 5, 31, 20, 0), (2026, 5, 31, 22, 30)),
        ("America/St_Johns", (2026, 1, 31, 20, 0), (2026, 1, 31, 23, 30)),
        ("Pacific/Kiritimati", (2026, 6, 1, 0, 0), (2026, 5, 31, 10, 0)),
        ("Pacific/Pago_Pago", (2026, 5, 31, 23, 0), (2026, 6, 1, 10, 0)),
        ("Europe/Berlin", (2026, 3, 29, 1, 59), (2026, 3, 29, 0, 59)),
        ("Europe/Berlin", (2026, 3, 29, 3, 0), (2026, 3, 29, 1, 0)),
        ("Europe/Berlin", (2026, 10, 25, 1, 59), (2026, 10, 24, 23, 59)),
        ("Europe/Berlin", (2026, 10, 25, 3, 0), (2026, 10, 25, 2, 0)),
        ("Australia/Lord_Howe", (2026, 4, 5, 12, 0), (2026, 4, 5, 1, 30)),
    ],
)
def test_a_time_in_a_zone_is_one_instant_and_back(time_zone, shown, instant) -> None:
    assert instant_of(wall(*shown), time_zone) == utc(*instant)
    assert local_time(utc(*instant), time_zone) == wall(*shown)


@pytest.mark.parametrize(
    ("time_zone", "shown"),
    [
        ("Europe/Berlin", (2026, 3, 29, 2, 0)),
        ("Europe/Berlin", (2026, 3, 29, 2, 30)),
        ("America/St_Johns", (2026, 3, 8, 2, 30)),
        ("Pacific/Apia", (2011, 12, 30, 12, 0)),
    ],
)
@pytest.mark.parametrize("is_second", [None, False, True])
def test_a_time_that_clocks_jump_over_is_refused(time_zone, shown, is_second) -> None:
    with pytest.raises(NonexistentTimeError, match="does not exist"):
        instant_of(wall(*shown), time_zone, is_second=is_second)


def test_a_time_that_is_jumped_over_is_told_with_times_that_do_come() -> None:
    with pytest.raises(NonexistentTimeError, match="2026-03-29 01:30 or 2026-03-29 03:30"):
        instant_of(wall(2026, 3, 29, 2, 30), "Europe/Berlin")


@pytest.mark.parametrize(
    ("time_zone", "shown", "first", "second"),
    [
        ("Europe/Berlin", (2026, 10, 25, 2, 30), (2026, 10, 25, 0, 30), (2026, 10, 25, 1, 30)),
        ("America/St_Johns", (2026, 11, 1, 1, 30), (2026, 11, 1, 4, 0), (2026, 11, 1, 5, 0)),
        ("Australia/Lord_Howe", (2026, 4, 5, 1, 45), (2026, 4, 4, 14, 45), (2026, 4, 4, 15, 15)),
    ],
)
def test_a_time_that_comes_twice_is_explained_and_can_be_told_apart(time_zone, shown, first, second) -> None:
    with pytest.raises(AmbiguousTimeError, match="occurs twice") as twice:
        instant_of(wall(*shown), time_zone)
    assert (twice.value.first, twice.value.second) == (utc(*first), utc(*second))
    assert instant_of(wall(*shown), time_zone, is_second=False) == utc(*first)
    assert instant_of(wall(*shown), time_zone, is_second=True) == utc(*second)
    assert not is_second_of_two(utc(*first), time_zone)
    assert is_second_of_two(utc(*second), time_zone)


@pytest.mark.parametrize("year", [1, 1999, 2201, 9999])
def test_a_year_out_of_all_reason_is_refused_whatever_the_zone(year) -> None:
    for time_zone in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
        with pytest.raises(ClockError, match="year"):
            instant_of(wall(year, 1, 1), time_zone)


def test_zones_are_those_of_places_and_utc() -> None:
    zones = time_zones()
    assert {"UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Kiritimati", "Europe/Berlin"} <= set(zones)
    assert list(zones) == sorted(zones)
    assert not {"Factory", "localtime"} & set(zones)


@pytest.mark.parametrize(
    ("seconds", "said"), [(59, "less than a minute"), (60, "1 minute"), (119, "1 minute"), (7200, "2 hours")]
)
def test_the_last_minute_is_not_called_none(seconds: int, said: str) -> None:
    assert time_left(NOW + timedelta(seconds=seconds), NOW).replace("\xa0", " ") == said
