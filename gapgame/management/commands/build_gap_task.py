"""`manage.py build_gap_task CORPUS OUT_FOLDER`: fill-in-the-blank for machines, with disjoint parts."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from crosslens_metrics.commands.arguments import whole_number
from crosslens_metrics.formats.problems import FileProblemsError
from gapgame.formats.tasks import build_task
from gapgame.rules.task import HELD_OUT_SPLIT, TEST, VALID, TooFewInstancesError


class Command(BaseCommand):
    help = "Split a corpus of illustrated words into training, validation and test sets for fill-in-the-blank."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("corpus", type=Path, help="items as .jsonl, or MultiSubs (see docs/game-files.md)")
        parser.add_argument("folder", type=Path, help="new folder for the task")
        parser.add_argument("--seed", type=whole_number(-(2**63), 2**63 - 1), default=0, help="default 0")
        parser.add_argument("--valid", type=whole_number(1, 10**6), default=5000, help="default %(default)s")
        parser.add_argument("--test", type=whole_number(1, 10**6), default=5000, help="default %(default)s")
        parser.add_argument(
            "--reserve",
            type=whole_number(1, 40),
            default=10,
            help="percentage of each synset's images reserved for each of the two parts",
        )

    def handle(self, *, corpus: Path, folder: Path, **options: Any) -> None:
        sizes = {VALID: options["valid"], TEST: options["test"]}
        try:
            built = build_task(corpus, folder, sizes=sizes, reserve_percent=options["reserve"], seed=options["seed"])
        except FileProblemsError as refused:
            raise CommandError(str(refused)) from refused
        except TooFewInstancesError as few:
            raise CommandError(
                _(
                    "%(part)s should have %(wanted)s instances, but only %(found)s could be drawn. "
                    "%(of_split)s of the corpus are in %(split)s, and %(eligible)s of these have images for "
                    "both parts (a sense needs at least three). A sentence can be in only one part. Ask for "
                    "fewer."
                )
                % {**vars(few), "found": few.drawn, "split": HELD_OUT_SPLIT}
            ) from few
        for name, number in built.manifest["counts"].items():
            self.stdout.write(f"{name}: {number}")
        self.stdout.write(_("Written to %(folder)s.") % {"folder": folder})
