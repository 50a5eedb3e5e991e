"""`manage.py rank_metrics FILE.csv --proposed COLUMN ... --standard COLUMN ...`: metrics by their ranks."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.tables import read_table
from crosslens_metrics.model_ranks import Ties
from crosslens_metrics.reports.rankings import rankings_of
from people.management.arguments import whole_number
from scoring.management.reports import write_report


class Command(BaseCommand):
    help = "Hold the ranks that proposed metrics give models against those of standard metrics (Spearman)."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="one model a row; docs/researchers.md tells more")
        parser.add_argument("--proposed", required=True, nargs="+", action="extend", metavar="COLUMN")
        parser.add_argument("--standard", required=True, nargs="+", action="extend", metavar="COLUMN")
        parser.add_argument("--sums", action="store_true", help="also the sums of every two or more proposed metrics")
        parser.add_argument("--model", metavar="COLUMN", help="names of the models (default: model, else the first)")
        parser.add_argument(
            "--ties",
            choices=[str(kind) for kind in Ties],
            default=str(Ties.MEAN),
            help="rank that equal scores share: 1, 2.5, 2.5, 4 or 1, 2, 2, 4 (default %(default)s)",
        )
        parser.add_argument("--skip-missing", action="store_true", help="leave out models without a score")
        parser.add_argument("--digits", type=whole_number(1, 12), default=3, help="printed (default %(default)s)")
        parser.add_argument("--json", action="store_true", dest="for_programs", help="as JSON, for programs")

    def handle(
        self, *, file: Path, proposed: list[str], standard: list[str], for_programs: bool, **options: Any
    ) -> None:
        model = options["model"]
        try:
            report = rankings_of(
                read_table(file, asked=[*proposed, *standard, *([model] if model else [])]),
                proposed=proposed,
                standard=standard,
                model=model,
                with_sums=options["sums"],
                skip_missing=options["skip_missing"],
                ties=Ties(options["ties"]),
            )
        except FileRefusedError as refused:
            raise CommandError(f"{file}:\n{refused}") from refused
        write_report(self.stdout, report, digits=options["digits"], for_programs=for_programs)
