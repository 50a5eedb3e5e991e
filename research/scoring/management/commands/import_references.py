"""`manage.py import_references PROJECT COLLECTION FILE --name NAME`: the import of the browser, here and now."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from core.images.management.arguments import add_report, check_report, collection_named, finish
from core.people.management.arguments import checked_file, checked_text, language_of, project_named
from research.scoring.models import ReferenceKind, ReferenceSet
from research.scoring.services.reference_imports import import_path

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
        add_report(parser)

    def handle(self, *, project: str, collection: str, file: Path, name: str, **options: Any) -> None:
        checked_file(file)
        name = checked_text(name, option="--name", longest=ReferenceSet._meta.get_field("name").max_length)
        check_report(options["report"])
        into = project_named(project)
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
        finish(job, self, report=options["report"], strict=options["strict"])
