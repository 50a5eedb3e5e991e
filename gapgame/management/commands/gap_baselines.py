"""`manage.py gap_baselines TASK_FOLDER --method random|frequency|ngram|image`: predictions of simple methods."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from crosslens_metrics.commands.running import whole_number
from gapgame.formats.predictions import predict
from gapgame.management.task_options import add_output, put_out
from gapgame.rules.task import HELD_OUT, MAX_GRAM_LENGTH, NEIGHBOURS, TEST, BaselineMethod


class Command(BaseCommand):
    help = "Fill the gaps of a task by chance, by frequency in training, by the words before the gap, or by its image."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="folder made by build_gap_task")
        parser.add_argument("--method", required=True, choices=[str(method) for method in BaselineMethod])
        parser.add_argument(
            "-n",
            type=whole_number(1, MAX_GRAM_LENGTH),
            default=MAX_GRAM_LENGTH,
            help="longest n-gram (default %(default)s)",
        )
        parser.add_argument(
            "--features", type=Path, metavar="FILE", help="of images (default: features.npz of the task)"
        )
        parser.add_argument(
            "-k",
            type=whole_number(1, 10_000),
            default=NEIGHBOURS,
            help="training images that vote (default %(default)s)",
        )
        parser.add_argument("--part", choices=HELD_OUT, default=TEST, help="default %(default)s")
        parser.add_argument("--seed", type=whole_number(-(2**63), 2**63 - 1), default=0, help="default 0")
        add_output(parser)

    def handle(self, *, folder: Path, method: str, part: str, output: Path | None, **options: Any) -> None:
        predictions = predict(
            folder,
            part,
            method=BaselineMethod(method),
            longest=options["n"],
            seed=options["seed"],
            features=options["features"],
            neighbours=options["k"],
        )
        put_out(predictions, output, self.stdout)
