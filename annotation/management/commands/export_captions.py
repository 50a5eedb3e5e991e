"""`manage.py export_captions PROJECT --format xm3600|jsonl|csv [--output FILE]`"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotation.formats.captions import Layout, export_captions, export_to_file
from people.models import Project


class Command(BaseCommand):
    help = "Write the counted captions of a project, as a file or to standard output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="last part of the project's address")
        parser.add_argument("--format", required=True, choices=Layout.values, help="format of the file")
        parser.add_argument(
            "--output",
            type=Path,
            metavar="FILE",
            help="output file, written completely or not at all (default: standard output)",
        )

    def handle(self, *, project: str, format: str, output: Path | None, **options: Any) -> None:
        found = Project.objects.filter(slug=project).first()
        if found is None:
            known = ", ".join(Project.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no project {project!r}. Available projects: {known}.")
        layout, until = Layout(format), timezone.now()
        if output is None:
            for piece in export_captions(found, layout, until=until):
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
            return
        try:
            export_to_file(found, layout, output, until=until)
        except OSError as error:
            raise CommandError(f"The file {output} cannot be written: {error.strerror}.") from error
        self.stderr.write(f"Written to {output}.")
