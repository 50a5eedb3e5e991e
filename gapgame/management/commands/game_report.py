"""`manage.py game_report TURNS.(jsonl|csv)`: who found the words of a game, without a database."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from crosslens_metrics.commands.running import whole_number
from crosslens_metrics.formats.problems import FileProblemsError
from gapgame.formats.report_text import report_lines
from gapgame.formats.turn_files import read_turns
from gapgame.rules.report import BY, RESAMPLES, build_report
from gapgame.rules.turns import TurnRule


class Command(BaseCommand):
    help = "Report from a file of turns at which attempt words were found, and how close the guesses were."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("turns", type=Path, help=".jsonl, or .csv of counts (columns: see docs/game-files.md)")
        parser.add_argument("--json", action="store_true", dest="for_programs", help="print JSON")
        parser.add_argument(
            "--seed",
            type=whole_number(-(2**63), 2**63 - 1),
            default=0,
            help="of the draws of equal size (default 0)",
        )
        parser.add_argument(
            "--resamples",
            type=whole_number(100, 100_000),
            default=RESAMPLES,
            help="how often splits are made equal; intervals need no draws (default %(default)s)",
        )
        parser.add_argument(
            "--keep",
            action="append",
            default=[],
            choices=[str(rule) for rule in TurnRule],
            help="count turns that this rule leaves out (repeatable)",
        )
        parser.add_argument(
            "--by", action="append", default=[], choices=BY, help="also report figures for each of these (repeatable)"
        )
        parser.add_argument(
            "--vectors", default="", metavar="SIGNATURE", help="word vectors with which the game was played"
        )

    def handle(self, *, turns: Path, for_programs: bool, keep: list[str], by: list[str], **options: Any) -> None:
        try:
            read = read_turns(turns)
        except FileProblemsError as refused:
            raise CommandError(str(refused)) from refused
        report = build_report(
            read.turns,
            keep=keep,
            by=by,
            seed=options["seed"],
            resamples=options["resamples"],
            vectors=options["vectors"],
        )
        if for_programs:
            figures = {"repeated_lines": read.repeated_lines, **report.as_json()}
            self.stdout.write(json.dumps(figures, ensure_ascii=False, indent=2, allow_nan=False))
            return
        for line in report_lines(report):
            self.stdout.write(line)
        if read.repeated_lines:
            self.stdout.write(_("Repeated turns, counted once: %(number)s") % {"number": read.repeated_lines})
