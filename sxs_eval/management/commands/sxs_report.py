"""`manage.py sxs_report JUDGEMENTS.(jsonl|csv)`: all figures of side-by-side judgements, without a database."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from crosslens_metrics.commands.arguments import whole_number
from crosslens_metrics.formats.problems import FileProblemsError
from sxs_eval.formats.judgement_files import read_judgements
from sxs_eval.formats.reports import report_on


class Command(BaseCommand):
    help = "Report WINS, LOSSES and their difference, with intervals, from a file of side-by-side judgements."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "judgements", type=Path, help=".csv or .jsonl; docs/side-by-side-files.md tells the columns"
        )
        parser.add_argument("--json", action="store_true", dest="for_programs", help="as JSON, for programs")
        parser.add_argument(
            "--seed", type=whole_number(-(2**63), 2**63 - 1), default=0, help="of the resamples (default 0)"
        )
        parser.add_argument(
            "--replication", type=whole_number(1, 100), default=3, help="judgements that an image needs (default 3)"
        )
        parser.add_argument(
            "--resamples", type=whole_number(100, 100_000), default=10_000, help="of the bootstrap (default 10000)"
        )

    def handle(
        self, *, judgements: Path, for_programs: bool, seed: int, replication: int, resamples: int, **options: Any
    ) -> None:
        try:
            read = read_judgements(judgements)
        except FileProblemsError as refused:
            raise CommandError(str(refused)) from refused
        report = report_on(read, seed=seed, replication=replication, resamples=resamples)
        if for_programs:
            self.stdout.write(json.dumps(report.as_json(), ensure_ascii=False, indent=2, allow_nan=False))
            return
        for line in report.lines():
            self.stdout.write(line)
        signature = _("Seed %(seed)s, %(resamples)s bootstrap resamples, %(replication)s judgements per image.")
        self.stdout.write(signature % {"seed": seed, "resamples": resamples, "replication": replication})
