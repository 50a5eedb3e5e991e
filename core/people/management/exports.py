"""Write an export to standard output, or to a file that is written completely or not at all."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from tabular.downloads import write_whole


def add_output(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="output file, written completely or not at all (default: standard output)",
    )


def write_export(command: BaseCommand, pieces: Iterable[bytes], output: Path | None) -> None:
    if output is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    try:
        write_whole(output, pieces)
    except OSError as error:
        raise CommandError(f"The file {output} cannot be written: {error.strerror}.") from error
    command.stderr.write(f"Written to {output}.")
