"""`manage.py quality_table PROJECT [--images SPEC] [--json]`: how good verified captions are, counted now."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand

from annotation.formats.quality import as_json, as_text, fresh_table
from annotation.management.image_filters import check_some_captioned
from annotation.models import RoundKind
from core.people.management.arguments import project_named
from core.people.rules.pseudonyms import pseudonym
from research.selection.management.image_filters import add_images, image_filter_errors
from research.selection.rules.image_filters import ImageFilter


class Command(BaseCommand):
    help = "Print the quality of a project's verified captions by language: shares with intervals, and agreement."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="last part of the project's address")
        parser.add_argument("--json", action="store_true", dest="for_programs", help="print JSON, with each rater")
        add_images(parser)

    def handle(self, *, project: str, for_programs: bool, images: ImageFilter, **options: Any) -> None:
        chosen = project_named(project)
        with image_filter_errors():
            check_some_captioned(images, chosen, RoundKind.VERIFICATION)
            table = fresh_table(chosen, images)
        if for_programs:
            rows = as_json(table, name_of=partial(pseudonym, chosen))
            self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=2, allow_nan=False))
        elif table.rows:
            for line in as_text(table):
                self.stdout.write(line)
        else:
            self.stdout.write("No captions of this project have been given to raters yet.")
