"""`manage.py import_references PROJECT COLLECTION FILE --name NAME`: the import of the browser, here and now."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from images.management.arguments import collection_named
from images.management.reports import check_report, print_report, write_report
from images.models import JobState
from people.management.arguments import language_of
from people.models import Project
from scoring.models import ReferenceKind, ReferenceSet
from scoring.services.reference_imports import import_path

KINDS = (ReferenceKind.IMPORTED, ReferenceKind.TRANSLATED)


class Command(BaseCommand):
    help = "Import reference captions from COCO's layout, JSON lines or Crossmodal-3600's layout."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="the project's slug")
        parser.add_argument("collection", help="name or slug of the collection of the images")
        parser.add_argument("file", type=Path)
        parser.add_argument("--name", required=True, help="name of the references, for example XM3600")
        parser.add_argument(
            "--language", help="tag of the captions' language; without it, all languages named in the lines"
        )
        parser.add_argument("--kind", choices=[str(kind) for kind in KINDS], default=str(ReferenceKind.IMPORTED))
        parser.add_argument("--source", default="", help="where the captions come from, and under which licence")
        parser.add_argument("--report", type=Path, help="write the full report to this CSV file")

    def handle(self, *, project: str, collection: str, file: Path, name: str, **options: Any) -> None:
        if not file.is_file():
            raise CommandError(f"There is no file {file}.")
        name = name.strip()
        longest = ReferenceSet._meta.get_field("name").max_length or 0
        if not 1 <= len(name) <= longest or not name.isprintable():
            raise CommandError(f"--name needs 1 to {longest} characters and no control characters.")
        check_report(options["report"])
        into = _project(project)
        job = import_path(
            path=file,
            project=into,
            collection=collection_named(collection, project=into),
            language=language_of(options["language"]) if options["language"] else None,
            name=name,
            kind=ReferenceKind(options["kind"]),
            source=options["source"].strip(),
            clock=timezone.now,
        )
        if options["report"] is not None:
            write_report(job, options["report"])
        print_report(job, self.stdout)
        if job.state == JobState.FAILED:
            raise CommandError(job.error)


def _project(slug: str) -> Project:
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        raise CommandError(f"There is no project {slug}.")
    return project
