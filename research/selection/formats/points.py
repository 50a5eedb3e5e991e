"""Read points with keys from a CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from django.utils.translation import gettext as _

from core.images.rules.coordinate_faults import reason_of
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import csv_records
from geography.coordinates import fault_of
from geography.places import CoordinateFault

COLUMNS = ("latitude", "longitude")


@dataclass(frozen=True)
class PointLine:
    """A line of the file. Latitude and longitude are degrees, NaN where `fault` says that they cannot be right."""

    number: int
    key: str
    latitude: float
    longitude: float
    fault: CoordinateFault | None = None


def read_points(file: IO[bytes]) -> Iterator[PointLine | LineError]:
    """Points of a CSV file with columns key, latitude and longitude in any case; other columns are ignored.

    A line whose coordinates cannot be right is a point with a fault, and then a LineError that says so.

    Raises
    ------
    FileRefusedError
        Where a column is missing, or the file is no CSV file.
    """
    for record in csv_records(file, column="key", more=COLUMNS):
        if isinstance(record, LineError):
            yield record
            continue
        values = record.value
        key = values["key"].strip()
        if not key:
            yield LineError(_("This line has no key."), number=record.number)
            continue
        latitude, longitude = (values.get(column, "") for column in COLUMNS)
        fault = fault_of(latitude, longitude)
        if fault is None:
            yield PointLine(record.number, key, float(latitude), float(longitude))
        else:
            yield PointLine(record.number, key, float("nan"), float("nan"), fault)
            yield LineError(reason_of(fault), key, number=record.number)
