"""`manage.py build_gap_task CORPUS OUT_FOLDER`: fill-in-the-blank for machines, with disjoint parts."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from crosslens_metrics.formats.problems import FileProblemsError
from gapgame.formats.task_folders import refusal
from gapgame.formats.tasks import build_task
from gapgame.management.task_options import add_drawing, drawing
from gapgame.rules.task import TooFewInstancesError


class Command(BaseCommand):
    help = "Split a corpus of illustrated words into training, validation and test sets for fill-in-the-blank."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "corpus",
            type=Path,
            help="items as .jsonl, MultiSubs, or a folder made by build_corpus (see docs/game-files.md)",
        )
        parser.add_argument("folder", type=Path, help="new folder for the task")
        add_drawing(parser)

    def handle(self, *, corpus: Path, folder: Path, **options: Any) -> None:
        try:
            built = build_task(corpus, folder, **drawing(options))
        except (FileProblemsError, TooFewInstancesError) as refused:
            raise CommandError(refusal(refused)) from refused
        for name, number in built.manifest["counts"].items():
            self.stdout.write(f"{name}: {number}")
        self.stdout.write(_("Written to %(folder)s.") % {"folder": folder})
