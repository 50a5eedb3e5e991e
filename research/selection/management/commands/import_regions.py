"""`manage.py import_regions FILE.geojson`: regions by which images are located, beside those that are shipped."""

from __future__ import annotations

import hashlib
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError
from research.selection.formats.polygons import read_regions
from research.selection.services.places import current_borders, import_regions, locate_images

MAX_FILE_NAME_CHARACTERS = 255


class Command(BaseCommand):
    help = "Import polygons of regions from GeoJSON, and locate the images again. A wrong file is refused as a whole."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.geojson", help="Polygons and MultiPolygons in degrees")
        parser.add_argument(
            "--code-property", default="iso_3166_2", help="property with the code of a region (default %(default)s)"
        )
        parser.add_argument("--name-property", default="name", help="property with its name (default %(default)s)")
        parser.add_argument("--source", default="", metavar="TEXT", help="where the file is from, and its licence")

    def handle(self, *, file: Path, code_property: str, name_property: str, source: str, **options: Any) -> None:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        try:
            regions = read_regions(content, code_property=code_property, name_property=name_property)
        except FileProblemsError as refused:
            count = f"{len(refused.problems)} fault{'s' * (len(refused.problems) != 1)}"
            faults = "\n".join(problem.described() for problem in refused.problems)
            raise CommandError(f"Nothing was imported from {file}: {count}.\n{faults}") from refused
        except FileRefusedError as refused:
            raise CommandError(f"Nothing was imported from {file}. {refused}") from refused
        made = import_regions(
            regions=regions,
            name=file.name[-MAX_FILE_NAME_CHARACTERS:],
            sha256=hashlib.sha256(content).hexdigest(),
            source=source,
            by=None,
            now=timezone.now(),
        )
        self.stdout.write(f"Regions: {made.added} new, {made.replaced} replaced, {made.unchanged} unchanged.")
        if made.added or made.replaced:
            self.stdout.write(f"Borders are now version {current_borders().version}.")
            self.stdout.write(f"Images located again: {locate_images()}.")
