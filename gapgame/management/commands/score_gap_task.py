"""`manage.py score_gap_task GOLD PREDICTIONS`: accuracy and mean similarity, beside those of people."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.word_vectors import MalformedTableError, WordVectorSource, open_table
from gapgame.formats.predictions import read_filled
from gapgame.formats.report_text import interval_text, mean_text, share_text
from gapgame.formats.turn_files import read_turns
from gapgame.rules.figures import UndefinedFigure
from gapgame.rules.task_scores import BesidePeople, TaskScores, score
from gapgame.rules.turns import TurnRule
from research.inference.selectors.word_vectors import WordVectorsUnavailableError, vectors_of


class Command(BaseCommand):
    help = "Score fill-in-the-blank predictions of a machine, and compare them with people on the same items."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "gold",
            type=Path,
            help="folder of a task, PART.gold.jsonl, .txt with one word per line, or MultiSubs' sents.json",
        )
        parser.add_argument("predictions", type=Path, help=".jsonl with id and word, or .txt with one word per line")
        parser.add_argument("--splits", type=Path, metavar="FILE", help="MultiSubs' splits.json, with its sents.json")
        parser.add_argument("--part", help="valid or test of a folder (default test), or a list of --splits")
        parser.add_argument("--vectors", metavar="SIGNATURE|FOLDER", help="imported word vectors, or a folder")
        parser.add_argument(
            "--people", type=Path, metavar="TURNS", help="turns of people, in the format of game_report"
        )
        parser.add_argument(
            "--keep",
            action="append",
            default=[],
            choices=[str(rule) for rule in TurnRule],
            help="count turns that this rule leaves out (repeatable)",
        )
        parser.add_argument("--json", action="store_true", dest="for_programs", help="print JSON")

    def handle(self, *, gold: Path, predictions: Path, for_programs: bool, **options: Any) -> None:
        try:
            filled = read_filled(gold, predictions, splits=options["splits"], part=options["part"] or "")
            turns = read_turns(options["people"]).turns if options["people"] else None
        except FileProblemsError as refused:
            raise CommandError(str(refused)) from refused
        vectors = _vectors(options["vectors"]) if options["vectors"] else None
        scores = score(filled, vectors=vectors, turns=turns, keep=options["keep"])
        if for_programs:
            self.stdout.write(json.dumps(scores.as_json(), ensure_ascii=False, indent=2, allow_nan=False))
            return
        for line in _lines(scores):
            self.stdout.write(line)


def _vectors(name: str) -> WordVectorSource:
    try:
        return open_table(Path(name)) if Path(name).is_dir() else vectors_of(name)
    except (MalformedTableError, WordVectorsUnavailableError) as error:
        raise CommandError(str(error)) from error


def _lines(scores: TaskScores) -> Iterator[str]:
    yield _("Accuracy (exact 95%% confidence interval): %(share)s") % {"share": share_text(scores.accuracy)}
    over_words = _("over other words like these, with all their instances (jackknife with Student’s t): %(interval)s")
    yield "  " + over_words % {"interval": interval_text(scores.accuracy_over_words, ".2f")}
    yield _("Mean similarity (Student's 95%% confidence interval): %(mean)s") % {"mean": mean_text(scores.similarity)}
    if not isinstance(scores.similarity, UndefinedFigure):
        yield "  " + over_words % {"interval": interval_text(scores.similarity_over_words, ".4f")}
    if not isinstance(scores.without_vector, UndefinedFigure):
        yield _(
            "Without a vector, so similarity 0: %(either)s instances (%(gold)s answers, %(predicted)s predictions)"
        ) % vars(scores.without_vector)
    if isinstance(scores.people, UndefinedFigure):
        yield _("People: %(why)s") % {"why": scores.people.message}
    elif scores.people is not None:
        yield from _people_lines(scores.people)
    yield str(scores.signature)


def _people_lines(people: BesidePeople) -> Iterator[str]:
    yield _("Items that people also played: %(items)s. Turns on them that count: %(turns)s.") % vars(people)
    yield "  " + _("machine %(percent).2f%%") % {"percent": people.machine_percent}
    pairs = zip(people.people_percent, people.machine_minus_people, strict=True)
    for attempt, (percent, difference) in enumerate(pairs, start=1):
        yield "  " + _(
            "people by attempt %(attempt)s: %(percent).2f%%; machine minus people: %(points)s points "
            "(95%% interval over words: jackknife with Student’s t)"
        ) % {
            "attempt": attempt,
            "percent": percent,
            "points": f"{difference.points:+z.2f} {interval_text(difference.interval, '+z.2f')}",
        }
    for applied in people.filters:
        yield (
            f"  {applied.rule}: " + (_("kept") if applied.is_kept else str(applied.left_out)) + f" ({applied.matched})"
        )
