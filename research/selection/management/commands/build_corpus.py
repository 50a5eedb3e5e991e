"""`manage.py build_corpus CONFIG.toml --out FOLDER`: an illustrated corpus from parallel text. No database is used."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from parallel_text.building import STEP_NAMES, build, work_in
from parallel_text.config import MAX_WORKERS, read_config
from parallel_text.problems import CorpusError
from parallel_text.publish import PUBLISHED
from parallel_text.steps import building_in


class Command(BaseCommand):
    help = (
        "Build an illustrated corpus from parallel text, as a configuration says. Run it again after an interruption "
        "or a change: only what is not up to date is done."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("config", metavar="CONFIG.toml", type=Path, help="see docs/corpora.md")
        parser.add_argument("--out", metavar="FOLDER", type=Path, required=True, help="folder of the corpus")
        parser.add_argument(
            "--step", choices=STEP_NAMES, action="append", help="only this step; can be given several times"
        )
        parser.add_argument("--again", action="store_true", help="with --step: do it even if it is up to date")
        parser.add_argument("--workers", type=int, help="processes, in place of those of the configuration")
        parser.add_argument("--json", action="store_true", dest="for_programs", help="print the statistics as JSON")

    def handle(self, *, config: Path, out: Path, for_programs: bool, **options: Any) -> None:
        if options["again"] and not options["step"]:
            raise CommandError("--again needs --step: name what is to be done again.")
        workers = options["workers"]
        if workers is not None and not 1 <= workers <= MAX_WORKERS:
            raise CommandError(f"--workers needs a number from 1 to {MAX_WORKERS}.")
        try:
            settings = read_config(config)
            if workers is not None:
                settings = replace(settings, workers=workers)
            with building_in(out):
                records = build(
                    work_in(out, settings, base=config.parent),
                    steps=options["step"] or STEP_NAMES,
                    again=options["again"],
                    announce=self.stderr.write,
                )
        except CorpusError as error:
            raise CommandError(str(error)) from error
        for record in records:
            for problem in record.problems.as_json():
                self.stderr.write(f"{record.step}: {problem['count']} × {_described(problem)}")
        if records[-1].step != "publish":
            return
        call_command("corpus_statistics", str(out), json=for_programs, stdout=self.stdout)
        if not for_programs:
            self.stdout.write(f"\nWritten to {out}: {', '.join(PUBLISHED)}.")


def _described(problem: Mapping[str, Any]) -> str:
    """Name a kind of problem with its first example."""
    first = problem["examples"][0]
    line = f"line {first['line']}" if first["line"] else ""
    place = ", ".join(part for part in (first["file"], line) if part)
    return f"{problem['kind']}, first: {': '.join(part for part in (place, first['message']) if part)}"
