"""Write the report of an import to the terminal and to a file."""

from __future__ import annotations

import csv
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError, OutputWrapper
from django.utils.translation import gettext

from images.models import ImportJob, JobState, Outcome
from images.selectors import report_of, report_table


def add_report(parser: ArgumentParser) -> None:
    parser.add_argument("--report", type=Path, help="write the full report to this CSV file")


def check_report(path: Path | None) -> None:
    """Check that the report can be written. Call it before the import."""
    if path is None:
        return
    try:
        path.open("a").close()
    except OSError as error:
        raise CommandError(f"The report cannot be written to {path}: {error.strerror}.") from error


def finish(job: ImportJob, report: Path | None, output: OutputWrapper) -> None:
    """Write the report, and what was not imported to the terminal.

    Raises
    ------
    CommandError
        Where the import failed.
    """
    write_report(job, report)
    for row in job.rows.filter(outcome=Outcome.REJECTED).iterator():
        output.write(f"{row.name}: {row.get_outcome_display()}. {row.reason}")
    made = report_of(job)
    output.write(", ".join(f"{label}: {count}" for _, label, count in made.counts))
    if made.filled_in:
        output.write(f"{gettext('Filled in:')} {', '.join(made.filled_in)}.")
    for warning in made.missing.warnings():
        output.write(warning)
    if job.state == JobState.FAILED:
        raise CommandError(job.error)


def write_report(job: ImportJob, report: Path | None) -> None:
    if report is not None:
        with report.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(report_table(job))
