"""`manage.py translation_baselines TASK_FOLDER`: the most frequent translation of each word in training."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from gapgame.formats.translation_tasks import most_frequent
from gapgame.management.task_options import add_output, put_out
from gapgame.rules.task import HELD_OUT, TEST


class Command(BaseCommand):
    help = "Translate each word of a lexical translation task as it is most often translated in training."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="folder made by build_translation_task")
        parser.add_argument("--part", choices=HELD_OUT, default=TEST, help="default %(default)s")
        add_output(parser)

    def handle(self, *, folder: Path, part: str, output: Path | None, **options: Any) -> None:
        put_out(most_frequent(folder, part), output, self.stdout)
