"""`manage.py list_selected PROJECT NUMBER`: the files of a selection, for someone else to fetch."""

from __future__ import annotations

import csv
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from corpora.management.selections import selection_numbered
from corpora.selectors.selected_files import COLUMNS, selected_rows


class Command(BaseCommand):
    help = "Write key, address, checksum, licence, author, title, language and level of chosen candidates, as CSV."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="the project's slug")
        parser.add_argument("number", type=int, help="number of the selection")

    def handle(self, *, project: str, number: int, **options: Any) -> None:
        selection = selection_numbered(project, number)
        if selection.candidates_id is None:
            raise CommandError("The images of this selection are stored already. There is nothing to fetch.")
        writer = csv.DictWriter(self.stdout, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(selected_rows(selection))
