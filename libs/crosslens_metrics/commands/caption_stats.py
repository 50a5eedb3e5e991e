"""`caption_stats FILE`: how many captions there are and how long they are, by language."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from crosslens_metrics.caption_stats import COLUMNS, CaptionStatistics, statistics_of
from crosslens_metrics.commands.running import CommandFailedError, Write
from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.formats.xm3600 import read_captions
from crosslens_metrics.reports.figures import table_lines

HELP = "Say how many captions there are and how long they are, by language, as the published table does."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a file in the layout of Crossmodal-3600")
    add_json_argument(parser)


def add_json_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", dest="for_programs", help="write a list of objects instead of a table"
    )


def run(options: Namespace, *, write: Write, note: Write) -> None:
    """Write the statistics of a file.

    Raises CommandFailedError.
    """
    write_statistics(write, statistics_in(options.file), for_programs=options.for_programs)


def statistics_in(file: Path) -> Mapping[str, CaptionStatistics]:
    """The statistics of a file by language.

    Raises CommandFailedError.
    """
    try:
        with LineReader(file), file.open("rb") as opened:
            return statistics_of(read_captions(opened))
    except FileProblemsError as error:
        raise CommandFailedError(str(error)) from error


def write_statistics(write: Write, by_language: Mapping[str, CaptionStatistics], *, for_programs: bool) -> None:
    """Write a table, or a list of objects for programs."""
    rows = [{"language": tag, **statistics.as_columns()} for tag, statistics in by_language.items()]
    write(json.dumps(rows, indent=2) if for_programs else _as_table(rows))


def _as_table(rows: Iterable[Mapping[str, Any]]) -> str:
    cells = [["-" if row[name] is None else str(row[name]) for name in COLUMNS] for row in rows]
    return "\n".join(table_lines([COLUMNS, *cells], indent=""))
