"""`manage.py score_lexical_translation PREDICTIONS [TASK]`: the Ambiguous Lexical Index, accuracy, and both by word."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from crosslens_metrics.formats.problems import FileProblemsError
from gapgame.formats.predictions import EXAMPLE, read_predictions, read_published, read_translated
from gapgame.formats.report_text import interval_text
from gapgame.rules.task import HELD_OUT, TEST
from gapgame.rules.translation import TranslatedInstance, TranslationScores, score


class Command(BaseCommand):
    help = "Score predictions of lexical translation. No database is needed."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            metavar="PREDICTIONS",
            help="predictions: .jsonl with id and prediction, or .txt with one word per line; "
            f"without TASK .jsonl with one instance per line: {EXAMPLE}",
        )
        parser.add_argument(
            "task",
            type=Path,
            nargs="?",
            metavar="TASK",
            help="folder made by build_translation_task, or MultiSubs' sents.json",
        )
        parser.add_argument("--splits", type=Path, metavar="FILE", help="MultiSubs' splits.json, with its sents.json")
        parser.add_argument(
            "--dictionary", type=Path, metavar="FILE", help="MultiSubs' dict.json (default: that beside sents.json)"
        )
        parser.add_argument(
            "--part", "--split", default="", help="valid or test of a folder (default test), or a list of --splits"
        )
        parser.add_argument("--json", action="store_true", dest="for_programs", help="print JSON")

    def handle(self, *, file: Path, task: Path | None, for_programs: bool, **options: Any) -> None:
        try:
            scores = score(_read(file, task, **options))
        except FileProblemsError as refused:
            raise CommandError(str(refused)) from refused
        if for_programs:
            self.stdout.write(json.dumps(scores.as_json(), ensure_ascii=False, indent=2, allow_nan=False))
            return
        for line in _lines(scores):
            self.stdout.write(line)


def _read(
    file: Path, task: Path | None, *, splits: Path | None, dictionary: Path | None, part: str, **_options: Any
) -> list[TranslatedInstance]:
    if splits is not None:
        if task is None:
            raise CommandError(_("--splits goes with MultiSubs’ sents.json. Give that too."))
        dictionary = dictionary or task.with_name(task.name.replace("sents", "dict"))
        return read_published(file, task, splits=splits, dictionary=dictionary, part=part)
    if task is None:
        if part:
            raise CommandError(_("--part names a part of a task. Give the folder of the task too."))
        return read_translated(file)
    if not task.is_dir():
        raise CommandError(_("%(task)s is no folder. With MultiSubs’ sents.json, give --splits too.") % {"task": task})
    if part and part not in HELD_OUT:
        raise CommandError(_("A task has these parts to score: %(parts)s.") % {"parts": ", ".join(HELD_OUT)})
    return read_predictions(file, task, part or TEST)


def _lines(scores: TranslationScores) -> Iterator[str]:
    yield _("Instances: %(instances)s. Source words: %(words)s.") % vars(scores)
    yield _("ALI (95%% interval over source words: jackknife with Student’s t): %(figure)s") % {
        "figure": f"{scores.ali:z.4f} {interval_text(scores.ali_interval, 'z.4f')}"
    }
    yield _("Accuracy (95%% interval over source words: jackknife with Student’s t): %(figure)s") % {
        "figure": f"{scores.accuracy:.4f} {interval_text(scores.accuracy_interval, '.4f')}"
    }
    yield ""
    yield _("ALI, accuracy and instances by source word:")
    for one in scores.by_word:
        yield f"  {one.word:<24} {one.ali:+z.4f} {one.accuracy:.4f} {one.instances}"
    yield str(scores.signature)
