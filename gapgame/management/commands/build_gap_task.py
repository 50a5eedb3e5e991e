"""`manage.py build_gap_task CORPUS OUT_FOLDER`: fill-in-the-blank for machines, with disjoint parts."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from gapgame.formats.tasks import build_task
from gapgame.management.task_options import add_drawing, drawing, run_builder


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
        run_builder(partial(build_task, corpus, folder, drawing(options)), folder, self.stdout)
