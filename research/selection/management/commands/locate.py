"""`manage.py locate FILE.csv [--json]`: countries, region and continent of points. No database is used."""

from __future__ import annotations

import io
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError

from crosslens_metrics.formats.problems import FileRefusedError, LineError
from geography.borders import Borders, shipped_borders
from geography.places import PointPlace
from research.selection.formats.polygons import PointLine, read_points

AT_ONCE = 2_000
"""Points in memory."""

COPIED_AT_ONCE = 1 << 20
"""Characters. Nothing is printed before the file was read to its end, where it may still be refused."""

ROW = "{:24}  {:12} {:24} {}\n"


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
            with _opened(file) as opened, TemporaryFile("w+", encoding="utf-8", newline="") as written:
                lines = _json if for_programs else _table
                written.writelines(lines(self._located(read_points(opened), borders), borders.version))
                written.seek(0)
                while part := written.read(COPIED_AT_ONCE):
                    self.stdout.write(part, ending="")
        except FileRefusedError as refused:
            raise CommandError(f"{file}: {refused}") from refused
        if self.wrong:
            self.stderr.write(f"{self.wrong} of {self.count} lines could not be located.")

    def _located(
        self, points: Iterator[PointLine | LineError], borders: Borders
    ) -> Iterator[tuple[PointLine, PointPlace]]:
        while some := list(islice(points, AT_ONCE)):
            for each in some:
                if isinstance(each, LineError):
                    self.wrong += 1
                    self.count += not each.name
                    self.stderr.write(each.described())
            good = [each for each in some if isinstance(each, PointLine)]
            self.count += len(good)
            places = borders.locate([point.latitude for point in good], [point.longitude for point in good])
            yield from zip(good, places, strict=True)


def _json(found: Iterable[tuple[PointLine, PointPlace]], version: str) -> Iterator[str]:
    before = '{"points": ['
    for point, place in found:
        yield f"{before}\n{json.dumps(_as_json(point, place), ensure_ascii=False)}"
        before = ","
    yield f'{"" if before == "," else before}\n], "borders": {json.dumps(version)}}}\n'


def _table(found: Iterable[tuple[PointLine, PointPlace]], version: str) -> Iterator[str]:
    yield ROW.format("key", "countries", "regions", "continent")
    for point, place in found:
        cells = (" ".join(codes) or "-" for codes in (place.countries, place.regions))
        yield ROW.format(point.key, *cells, place.continent or "-")


def _as_json(point: PointLine, place: PointPlace) -> dict[str, Any]:
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
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(Path(file).open("rb"))
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        yield opened
