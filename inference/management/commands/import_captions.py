"""`manage.py import_captions FILE --model NAME --language TAG`: the same import as in the browser, here and now."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from images.management.arguments import collection_named
from images.management.reports import check_report, print_report, write_report
from images.models import JobState
from inference.forms.captions import MODEL_NAME_CHARACTERS
from inference.services.imports import import_path
from people.management.arguments import PROJECT_HELP, language_of, project_of


class Command(BaseCommand):
    help = "Import a model's captions from JSON lines, a JSON list or COCO results."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--model", required=True, help="name of the model; created if there is none")
        parser.add_argument("--language", required=True, help="tag of the captions' language, for example en")
        parser.add_argument("--collection", help="name or slug of the collection to look for images in")
        parser.add_argument("--project", metavar="SLUG", help=PROJECT_HELP)
        parser.add_argument("--report", type=Path, help="write the full report to this CSV file")

    def handle(self, *, file: Path, model: str, language: str, **options: Any) -> None:
        if not file.is_file():
            raise CommandError(f"There is no file {file}.")
        model = model.strip()
        if not model or len(model) > MODEL_NAME_CHARACTERS:
            raise CommandError(f"--model has {len(model)} characters. Give it 1 to {MODEL_NAME_CHARACTERS} characters.")
        if not model.isprintable():
            raise CommandError("--model contains control characters. Remove them.")
        tongue = language_of(language)
        project, collection = project_of(options["project"]), None
        if options["collection"] is not None:
            collection = collection_named(options["collection"], project=project)
        check_report(options["report"])
        job = import_path(
            path=file, model=model, language=tongue, collection=collection, project=project, clock=timezone.now
        )
        if options["report"] is not None:
            write_report(job, options["report"])
        print_report(job, self.stdout)
        if job.state == JobState.FAILED:
            raise CommandError(job.error)
