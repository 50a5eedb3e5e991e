"""`manage.py build_translation_task CORPUS FOLDER --language TAG`: lexical translation for machines."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from crosslens_metrics.commands.arguments import language_tag
from crosslens_metrics.formats.problems import FileProblemsError
from gapgame.formats.task_folders import refusal
from gapgame.formats.translation_tasks import build_translation_task
from gapgame.management.task_options import add_drawing, drawing
from gapgame.rules.task import TooFewInstancesError
from gapgame.rules.translation_task import SynonymRule


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
        try:
            built = build_translation_task(corpus, folder, language=language, synonyms=synonyms, **drawing(options))
        except (FileProblemsError, TooFewInstancesError) as refused:
            raise CommandError(refusal(refused)) from refused
        for name, number in built.manifest["counts"].items():
            self.stdout.write(f"{name}: {number}")
        self.stdout.write(_("Written to %(folder)s.") % {"folder": folder})
