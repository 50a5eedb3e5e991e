"""`manage.py import_candidates FILE --project P`: read addresses of images that could be chosen."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.images.management.arguments import add_report, check_report, raise_or_warn, write_report
from core.jobs.models import JobState
from core.people.management.arguments import checked_file, checked_text, project_named
from research.selection.models import CandidateList
from research.selection.selectors.pools import summary_of
from research.selection.services.candidates import LIST, CandidatesRefusedError, import_path, slug_of

ROWS_SHOWN = 20


class Command(BaseCommand):
    help = "Import candidates: addresses of images with coordinates, as CSV, also packed by gzip."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--project", required=True, help="the project's slug")
        parser.add_argument("--name", default="", help="name of the list; without it, the name of the file")
        parser.add_argument("--slug", default="", help="slug of the list; without it, made from the name")
        parser.add_argument("--allow-no-licence", action="store_true", help="keep candidates that have no licence, too")
        add_report(parser)

    def handle(self, *, file: Path, project: str, name: str, slug: str, **options: Any) -> None:
        checked_file(file)
        check_report(options["report"])
        longest = CandidateList._meta.get_field("name").max_length
        name = checked_text(name or file.name.partition(".")[0], option="--name", longest=longest)
        slug = slug_of(slug or name)
        needs_licence = not options["allow_no_licence"]
        about: dict[str, Any] = {"path": file, "project": project_named(project), "name": name, "slug": slug}
        try:
            job = import_path(**about, needs_licence=needs_licence, clock=timezone.now)
        except CandidatesRefusedError as refused:
            raise CommandError(str(refused)) from refused
        write_report(job, options["report"])
        for row in job.rows.all()[:ROWS_SHOWN]:
            self.stdout.write(f"line {row.number}, {row.name}: {row.reason}")
        if job.state == JobState.FAILED:
            raise CommandError(job.error)
        summary = summary_of(CandidateList.objects.get(pk=job.options[LIST]))
        self.stdout.write(f"{summary.candidates.slug}: {summary.kept} candidates.")
        for reason, count in summary.left_out:
            self.stdout.write(f"Left out: {count}. {reason}")
        raise_or_warn(job, self, strict=options["strict"])
