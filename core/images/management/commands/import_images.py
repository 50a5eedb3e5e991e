"""`manage.py import_images FOLDER_OR_MANIFEST --collection NAME`: the same import as in the browser, here and now."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.images.management.arguments import add_report, check_report, finish
from core.images.models import Collection
from core.images.services.collections import find_or_create_collection
from core.images.services.imports import import_path
from core.images.tasks import ask_for_sizes
from core.people.management.arguments import PROJECT_HELP, project_of


class Command(BaseCommand):
    help = "Import images into a collection from a folder, a manifest (.csv, .jsonl, .json) or a zip file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", type=Path, help="folder, manifest or zip file")
        parser.add_argument(
            "--collection", required=True, help="name or slug of the collection; created if there is none"
        )
        parser.add_argument("--project", metavar="SLUG", help=PROJECT_HELP)
        add_report(parser)

    def handle(
        self, *, source: Path, collection: str, report: Path | None, project: str | None, **options: Any
    ) -> None:
        if not source.exists():
            raise CommandError(f"There is no file or folder {source}.")
        collection = collection.strip()
        longest = Collection._meta.get_field("name").max_length or 0
        if len(collection) > longest or not collection.isprintable() or not any(map(str.isalnum, collection)):
            raise CommandError(f"--collection needs 1 to {longest} characters, including a letter or digit.")
        check_report(report)
        into = find_or_create_collection(collection, project=project_of(project))
        job = import_path(path=source, collection=into, clock=timezone.now, announce=ask_for_sizes)
        finish(job, self, report=report, strict=options["strict"])
