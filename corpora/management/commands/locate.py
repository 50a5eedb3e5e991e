"""`manage.py locate FILE.csv [--json]`: countries, region and continent of points. No database is used."""

from __future__ import annotations

import io
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError

from corpora.formats.points import Point, read_points
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from geography.borders import Borders, shipped_borders
from geography.places import Place

AT_ONCE = 2_000
"""Points in memory."""

ROW = "{:24}  {:12} {:24} {}"


class Command(BaseCommand):
    help = "Tell in which countries, region and continent points lie, by the borders that come with the platform."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", metavar="FILE.csv", help="columns key, latitude and longitude in degrees; - reads standard input"
        )
        parser.add_argument("--json", action="store_true", dest="for_programs", help="print JSON")

    def handle(self, *, file: str, for_programs: bool, **options: Any) -> None:
        borders = shipped_borders()
        self.wrong = self.count = 0
        try:
            with _opened(file) as opened:
                found = self._located(read_points(opened), borders)
                if for_programs:
                    self._write_json(found, borders)
                else:
                    self._write_table(found)
        except FileRefusedError as refused:
            raise CommandError(f"{file}: {refused}") from refused
        if self.wrong:
            self.stderr.write(f"{self.wrong} of {self.count} lines could not be located.")

    def _located(self, points: Iterator[Point | LineError], borders: Borders) -> Iterator[tuple[Point, Place]]:
        while some := list(islice(points, AT_ONCE)):
            for each in some:
                if isinstance(each, LineError):
                    self.wrong += 1
                    self.count += not each.name
                    self.stderr.write(each.described())
            good = [each for each in some if isinstance(each, Point)]
            self.count += len(good)
            places = borders.locate([point.latitude for point in good], [point.longitude for point in good])
            yield from zip(good, places, strict=True)

    def _write_json(self, found: Iterator[tuple[Point, Place]], borders: Borders) -> None:
        before = '{"points": ['
        for point, place in found:
            self.stdout.write(f"{before}\n{json.dumps(_as_json(point, place), ensure_ascii=False)}", ending="")
            before = ","
        if before != ",":
            self.stdout.write(before, ending="")
        self.stdout.write(f'\n], "borders": {json.dumps(borders.version)}}}')

    def _write_table(self, found: Iterator[tuple[Point, Place]]) -> None:
        self.stdout.write(ROW.format("key", "countries", "regions", "continent"))
        for point, place in found:
            cells = (" ".join(codes) or "-" for codes in (place.countries, place.regions))
            self.stdout.write(ROW.format(point.key, *cells, place.continent or "-"))


def _as_json(point: Point, place: Place) -> dict[str, Any]:
    made: dict[str, Any] = {
        "key": point.key,
        "countries": list(place.countries),
        "region": place.region or None,
        "continent": place.continent or None,
        "regions": list(place.regions),
    }
    return {**made, "problem": str(point.fault)} if point.fault else made


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    if file == "-":
        yield io.BytesIO(sys.stdin.buffer.read())
        return
    try:
        with Path(file).open("rb") as opened:
            yield opened
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
