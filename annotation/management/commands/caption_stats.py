"""`manage.py caption_stats FILE_OR_PROJECT [--json]`"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.selectors.statistics import project_statistics
from crosslens_metrics.caption_stats import COLUMNS, CaptionStatistics, MalformedFileError, read_captions, statistics_of
from people.models import Project


class Command(BaseCommand):
    help = "Say how many captions there are and how long they are, by language, as the published table does."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "source",
            metavar="FILE_OR_PROJECT",
            help="a file in the layout of Crossmodal-3600, or else the last part of a project's address",
        )
        parser.add_argument("--json", action="store_true", help="write a list of objects instead of a table")

    def handle(self, *, source: str, json: bool, **options: Any) -> None:
        rows = [{"language": tag, **found.as_columns()} for tag, found in _statistics(source).items()]
        self.stdout.write(_as_json(rows) if json else _as_table(rows))


def _statistics(source: str) -> Mapping[str, CaptionStatistics]:
    path = Path(source)
    if path.is_file():
        try:
            with path.open("rb") as file:
                return statistics_of(read_captions(file))
        except MalformedFileError as found:
            raise CommandError(f"{source}, {found}") from found
        except OSError as error:
            raise CommandError(f"The file {source} cannot be read: {error.strerror}.") from error
    project = Project.objects.filter(slug=source).first()
    if project is None:
        known = ", ".join(Project.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no file {source!r}, and no project of that name. Projects there are: {known}.")
    return {language.pk: found for language, found in project_statistics(project)}


def _as_json(rows: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps(list(rows), indent=2)


def _as_table(rows: Iterable[Mapping[str, Any]]) -> str:
    lines = [COLUMNS, *(tuple("-" if row[name] is None else str(row[name]) for name in COLUMNS) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    )
