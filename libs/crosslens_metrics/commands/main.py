"""`crosslens-metrics COMMAND ...`, or `python -m crosslens_metrics COMMAND ...`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Protocol

from crosslens_metrics import __version__
from crosslens_metrics.commands import (
    caption_stats,
    correlate,
    document_frequencies,
    rank_metrics,
    score_captions,
    sxs_report,
)
from crosslens_metrics.commands.running import CommandFailedError, Write


class Command(Protocol):
    """A module of this package."""

    HELP: str

    def add_arguments(self, parser: ArgumentParser) -> None: ...
    def run(self, options: Namespace, *, write: Write, note: Write) -> None: ...


COMMANDS: Mapping[str, Command] = {
    "caption_stats": caption_stats,
    "correlate": correlate,
    "document_frequencies": document_frequencies,
    "rank_metrics": rank_metrics,
    "score_captions": score_captions,
    "sxs_report": sxs_report,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    - `arguments`: of the command line, from the command's name on. Default: those of the program.
    - returned: exit status: 0, or 1 where the command says on standard error why it failed.
    """
    parser = ArgumentParser(prog="crosslens-metrics", description="Metrics of image captions, from files.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.HELP, description=command.HELP))
    options = parser.parse_args(arguments)
    try:
        COMMANDS[options.command].run(options, write=_writer(sys.stdout.write), note=_writer(sys.stderr.write))
    except CommandFailedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _writer(write: Write) -> Write:
    return lambda line: write(f"{line}\n")
