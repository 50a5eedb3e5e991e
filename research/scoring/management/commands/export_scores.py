"""`manage.py export_scores PROJECT --format csv|jsonl|images-csv|images-jsonl [--images SPEC] [--output FILE]`"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from core.people.management.arguments import add_output, project_named, write_export
from research.scoring.formats.scores import ScoreLayout, export_scores
from research.scoring.selectors.some_figures import UNLIMITED
from research.selection.management.image_filters import add_images, image_filter_errors
from research.selection.rules.image_filters import ImageFilter


class Command(BaseCommand):
    help = "Write the current scores of a project, as a file or to standard output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="last part of the project's address")
        parser.add_argument("--format", required=True, choices=ScoreLayout.values, help="format of the file")
        add_images(parser)
        add_output(parser)

    def handle(self, *, project: str, format: str, images: ImageFilter, output: Path | None, **options: Any) -> None:
        with image_filter_errors():
            pieces = export_scores(project_named(project), ScoreLayout(format), images, budget=UNLIMITED)
        write_export(self, pieces, output)
