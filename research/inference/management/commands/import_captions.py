"""`manage.py import_captions FILE --model NAME --language TAG`: the same import as in the browser, here and now."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from core.images.management.arguments import add_report, check_report, collection_named, finish
from core.people.management.arguments import PROJECT_HELP, checked_file, checked_text, language_of, project_of
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.inference.services.captions import import_path


class Command(BaseCommand):
    help = "Import a model's captions from JSON lines, a JSON list or COCO results."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--model", required=True, help="name of the model; created if there is none")
        parser.add_argument("--language", required=True, help="tag of the captions' language, for example en")
        parser.add_argument("--collection", help="name or slug of the collection to look for images in")
        parser.add_argument("--project", metavar="SLUG", help=PROJECT_HELP)
        add_report(parser)

    def handle(self, *, file: Path, model: str, language: str, **options: Any) -> None:
        checked_file(file)
        model = checked_text(model, option="--model", longest=MAX_MODEL_NAME_CHARACTERS)
        tongue = language_of(language)
        project, collection = project_of(options["project"]), None
        if options["collection"] is not None:
            collection = collection_named(options["collection"], project=project)
        check_report(options["report"])
        job = import_path(
            path=file, model=model, language=tongue, collection=collection, project=project, clock=timezone.now
        )
        finish(job, self, report=options["report"], strict=options["strict"])
