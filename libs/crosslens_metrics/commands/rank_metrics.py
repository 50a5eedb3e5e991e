"""`rank_metrics FILE.csv --proposed COLUMN ... --standard COLUMN ...`: metrics by their ranks."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from crosslens_metrics.commands.running import CommandFailedError, Write, whole_number, write_report
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.tables import read_table
from crosslens_metrics.model_ranks import TiedRanks
from crosslens_metrics.reports.rankings import rankings_of

HELP = "Hold the ranks that proposed metrics give models against those of standard metrics (Spearman)."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="one model a row; docs/researchers.md tells more")
    parser.add_argument("--proposed", required=True, nargs="+", action="extend", metavar="COLUMN")
    parser.add_argument("--standard", required=True, nargs="+", action="extend", metavar="COLUMN")
    parser.add_argument("--sums", action="store_true", help="also the sums of every two or more proposed metrics")
    parser.add_argument("--model", metavar="COLUMN", help="names of the models (default: model, else the first)")
    parser.add_argument(
        "--ties",
        choices=[str(kind) for kind in TiedRanks],
        default=str(TiedRanks.MEAN),
        help="rank that equal scores share: 1, 2.5, 2.5, 4 or 1, 2, 2, 4 (default %(default)s)",
    )
    parser.add_argument("--skip-missing", action="store_true", help="leave out models without a score")
    parser.add_argument("--digits", type=whole_number(1, 12), default=3, help="printed (default %(default)s)")
    parser.add_argument("--json", action="store_true", dest="for_programs", help="print JSON")


def run(options: Namespace, *, write: Write, note: Write) -> None:
    """Write the report on a table.

    Raises CommandFailedError.
    """
    asked = [*options.proposed, *options.standard, *([options.model] if options.model else [])]
    try:
        report = rankings_of(
            read_table(options.file, asked=asked),
            proposed=options.proposed,
            standard=options.standard,
            model=options.model,
            with_sums=options.sums,
            skip_missing=options.skip_missing,
            ties=TiedRanks(options.ties),
        )
    except FileRefusedError as error:
        raise CommandFailedError(f"{options.file}:\n{error}") from error
    write_report(write, report, digits=options.digits, for_programs=options.for_programs)
