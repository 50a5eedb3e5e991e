"""`manage.py build_translation_task CORPUS FOLDER --language TAG`: lexical translation for machines."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from crosslens_metrics.commands.running import language_tag
from gapgame.formats.translation_tasks import build_translation_task
from gapgame.management.task_options import add_drawing, drawing, run_builder
from gapgame.rules.translation import SynonymRule


class Command(BaseCommand):
    help = "Split a corpus of parallel text into training, validation and test sets for lexical translation."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("corpus", type=Path, help="folder made by build_corpus")
        parser.add_argument("folder", type=Path, help="new folder for the task")
        parser.add_argument("--language", type=language_tag, required=True, metavar="TAG", help="the target language")
        parser.add_argument(
            "--synonyms",
            type=SynonymRule,
            choices=list(SynonymRule),
            default=SynonymRule.NEITHER,
            help="what other lemmas in the same sense are (default %(default)s)",
        )
        add_drawing(parser)

    def handle(self, *, corpus: Path, folder: Path, language: str, synonyms: SynonymRule, **options: Any) -> None:
        build = partial(build_translation_task, corpus, folder, drawing(options), language=language, synonyms=synonyms)
        run_builder(build, folder, self.stdout)
