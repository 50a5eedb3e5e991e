"""`manage.py export_captions PROJECT --format xm3600|jsonl|csv [--images SPEC] [--output FILE]`"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from annotation.formats.captions import CaptionLayout, export_captions
from annotation.management.image_filters import check_some_captioned
from core.people.management.arguments import add_output, project_named, write_export
from research.selection.management.image_filters import add_images, image_filter_errors
from research.selection.rules.image_filters import ImageFilter


class Command(BaseCommand):
    help = "Write the counted captions of a project, as a file or to standard output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="last part of the project's address")
        parser.add_argument("--format", required=True, choices=CaptionLayout.values, help="format of the file")
        add_images(parser)
        add_output(parser)

    def handle(self, *, project: str, format: str, images: ImageFilter, output: Path | None, **options: Any) -> None:
        chosen = project_named(project)
        layout, until = CaptionLayout(format), timezone.now()
        with image_filter_errors():
            check_some_captioned(images, chosen)
            pieces = export_captions(chosen, layout, until=until, images=images)
        write_export(self, pieces, output)
