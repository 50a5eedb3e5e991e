"""Options of commands about images: which collection, and the report of an import."""

from __future__ import annotations

import csv
import re
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q
from django.utils.translation import gettext

from core.images.models import Collection, ImportJob, ImportOutcome
from core.images.selectors import report_of, report_table
from core.jobs.models import JobState
from core.people.management.arguments import named_object
from core.people.models import Project
from core.people.permissions import usable_in

QUOTED = re.compile("“[^”]*”")


def collection_named(name: str, *, project: Project | None = None) -> Collection:
    """Find a collection by its slug, else by its name; if `project` is given, one that it may use."""
    return named_object(Collection.objects.filter(usable_in(project)), name, kind="collection", project=project)


def add_report(parser: ArgumentParser) -> None:
    parser.add_argument("--report", type=Path, help="write the full report to this CSV file")
    parser.add_argument("--strict", action="store_true", help="end with status 1 if anything is left out")


def check_report(path: Path | None) -> None:
    """Check that the report can be written. Call it before the import."""
    if path is None:
        return
    try:
        path.open("a").close()
    except OSError as error:
        raise CommandError(f"The report cannot be written to {path}: {error.strerror}.") from error


def finish(job: ImportJob, command: BaseCommand, *, report: Path | None, strict: bool) -> None:
    """Write the report, and what was not imported to the terminal.

    Raises CommandError where the import failed or imported nothing; where it left something out, if that is `strict`.
    """
    write_report(job, report)
    output, made = command.stdout, report_of(job)
    for reason, (count, name) in reasons_of(job).items():
        output.write(f"{reason} ({count:,}; for example {name})" if count > 1 else f"{name}: {reason}")
    output.write(", ".join(f"{label}: {count}" for _, label, count in made.counts))
    if made.filled_in:
        output.write(f"{gettext('Filled in:')} {', '.join(made.filled_in)}.")
    if made.had_hidden:
        output.write(f"{gettext('Captions from which invisible characters were removed:')} {made.had_hidden}.")
    for warning in made.missing.warnings():
        output.write(warning)
    raise_or_warn(job, command, strict=strict)


def reasons_of(job: ImportJob) -> dict[str, tuple[int, str]]:
    """What the report says, but of hidden characters; names in it do not matter: how often, and of what first."""
    alike: dict[str, str] = {}
    found: dict[str, tuple[int, str]] = {}
    rows = job.rows.filter(Q(rejected__gt=0) | ~Q(reason="") & Q(had_hidden=0))
    for row in rows.only("reason", "name", "rejected").iterator():
        reason = alike.setdefault(QUOTED.sub("", row.reason), row.reason)
        count, name = found.get(reason, (0, row.name))
        found[reason] = (count + (row.rejected or 1), name)
    return found


def raise_or_warn(job: ImportJob, command: BaseCommand, *, strict: bool) -> None:
    """Raise a `CommandError`, or warn, as `finish` does."""
    counts = {outcome: count for outcome, _, count in report_of(job).counts}
    if job.state == JobState.FAILED:
        raise CommandError(job.error)
    if not counts[ImportOutcome.ADDED] + counts[ImportOutcome.ALREADY]:
        raise CommandError("Nothing was imported.")
    if left_out := counts[ImportOutcome.REJECTED]:
        message = f"{left_out} {'was' if left_out == 1 else 'were'} left out."
        if strict:
            raise CommandError(message)
        command.stderr.write(command.style.WARNING(message))


def write_report(job: ImportJob, report: Path | None) -> None:
    if report is not None:
        with report.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(report_table(job))
