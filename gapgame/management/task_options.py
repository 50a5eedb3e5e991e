"""Options that the commands which build machine tasks share."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, OutputWrapper
from django.utils.translation import gettext as _

from crosslens_metrics.commands.running import whole_number
from crosslens_metrics.formats.problems import FileProblemsError
from gapgame.formats.task_folders import refusal
from gapgame.formats.tasks import TaskDrawing
from gapgame.rules.task import HELD_OUT_SPLIT, TEST, TRAIN_SPLIT, VALID, SplitChoice, TooFewInstancesError
from gapgame.rules.turns import SPLITS
from tabular.downloads import write_whole


def add_drawing(parser: ArgumentParser) -> None:
    parser.add_argument("--seed", type=whole_number(-(2**63), 2**63 - 1), default=0, help="default 0")
    parser.add_argument("--valid", type=whole_number(1, 10**6), default=5000, help="default %(default)s")
    parser.add_argument("--test", type=whole_number(1, 10**6), default=5000, help="default %(default)s")
    parser.add_argument(
        "--reserve",
        type=whole_number(1, 40),
        default=10,
        help="percentage of each synset's images reserved for each of the two parts",
    )
    parser.add_argument(
        "--split",
        choices=SPLITS,
        default=HELD_OUT_SPLIT,
        help="where validation and test come from, with the splits above it (default %(default)s)",
    )
    parser.add_argument("--exactly", action="store_true", help="without the splits above --split")
    parser.add_argument(
        "--train-split",
        choices=SPLITS,
        default=TRAIN_SPLIT,
        help="where training comes from, with the splits above it (default %(default)s)",
    )
    parser.add_argument(
        "--images", type=Path, metavar="FOLDER", help="copy the images that are used from here, with their credits"
    )
    parser.add_argument(
        "--features", type=Path, metavar="FILE", help="write features of the images that are used, from this file"
    )


def drawing(options: Mapping[str, Any]) -> TaskDrawing:
    return TaskDrawing(
        sizes={VALID: options["valid"], TEST: options["test"]},
        reserve_percent=options["reserve"],
        seed=options["seed"],
        splits=SplitChoice(options["split"], options["exactly"], options["train_split"]),
        images=options["images"],
        features=options["features"],
    )


def run_builder(build: Callable[[], Mapping[str, Any]], folder: Path, stdout: OutputWrapper) -> None:
    """Build a task, and say how many instances each part has, or why there is none."""
    try:
        manifest = build()
    except (FileProblemsError, TooFewInstancesError) as refused:
        raise CommandError(refusal(refused)) from refused
    for name, number in manifest["counts"].items():
        stdout.write(f"{name}: {number}")
    stdout.write(_("Written to %(folder)s.") % {"folder": folder})


def add_output(parser: ArgumentParser) -> None:
    parser.add_argument("--output", type=Path, metavar="FILE", help="output file (default: standard output)")


def put_out(predictions: Iterable[str], output: Path | None, stdout: OutputWrapper) -> None:
    """Write predictions to a file, all or none, or to standard output."""
    try:
        lines = list(predictions)
        if output is None:
            stdout.write("".join(lines), ending="")
        else:
            write_whole(output, (line.encode() for line in lines))
    except FileProblemsError as refused:
        raise CommandError(str(refused)) from refused
    except OSError as error:
        raise CommandError(f"The file {output} cannot be written: {error.strerror}.") from error
