"""`sxs_report JUDGEMENTS.(jsonl|csv)`: all figures of side-by-side judgements."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from crosslens_metrics.commands.running import CommandFailedError, Write, as_json, whole_number
from crosslens_metrics.formats.judgements import read_judgements
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.messages import gettext as _
from crosslens_metrics.reports.judgements import report_on

HELP = "Report WINS, LOSSES and their difference, with intervals, from a file of side-by-side judgements."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("judgements", type=Path, help=".csv or .jsonl; docs/side-by-side-files.md tells the columns")
    parser.add_argument("--json", action="store_true", dest="for_programs", help="as JSON, for programs")
    parser.add_argument(
        "--seed", type=whole_number(-(2**63), 2**63 - 1), default=0, help="of the resamples (default 0)"
    )
    parser.add_argument(
        "--replication", type=whole_number(1, 100), default=3, help="judgements that an image needs (default 3)"
    )
    parser.add_argument(
        "--resamples", type=whole_number(100, 100_000), default=10_000, help="of the bootstrap (default 10000)"
    )


def run(options: Namespace, *, write: Write, note: Write) -> None:
    """Write the report on a file of judgements.

    Raises CommandFailedError.
    """
    settings = {"seed": options.seed, "resamples": options.resamples, "replication": options.replication}
    try:
        report = report_on(read_judgements(options.judgements), **settings)
    except (FileProblemsError, ImportError) as error:
        raise CommandFailedError(str(error)) from error
    if options.for_programs:
        write(as_json(report.as_json()))
        return
    for line in report.lines():
        write(line)
    write(_("Seed: %(seed)s. Bootstrap resamples: %(resamples)s. Judgements per image: %(replication)s.") % settings)
