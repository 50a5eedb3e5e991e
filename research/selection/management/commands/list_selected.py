"""`manage.py list_selected PROJECT NUMBER`: the files that a selection lacks, for img2dataset or aria2c to fetch."""

from __future__ import annotations

import csv
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.people.management.arguments import project_named
from research.selection.models import Selection
from research.selection.selectors.selections import COLUMNS, aria2_lines, is_file_name, missing_rows


class Command(BaseCommand):
    help = "Write the addresses of chosen candidates whose files are not there yet: CSV, or an input file of aria2c."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="the project's slug")
        parser.add_argument("number", type=int, help="number of the selection")
        parser.add_argument(
            "--format",
            choices=("csv", "aria2c"),
            default="csv",
            dest="layout",
            help="csv, which img2dataset reads, or aria2c (default: %(default)s)",
        )

    def handle(self, *, project: str, number: int, layout: str, **options: Any) -> None:
        selection = _selection_numbered(project, number)
        if selection.candidates_id is None:
            raise CommandError("The images of this selection are stored already. There is nothing to fetch.")
        if layout == "csv":
            writer = csv.DictWriter(self.stdout, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(missing_rows(selection))
            return
        self.stdout.writelines(aria2_lines(selection))
        left_out = sum(not is_file_name(row["key"]) for row in missing_rows(selection))
        if left_out:
            self.stderr.write(f"Left out, because no file can be named as their key: {left_out}. Use --format csv.")


def _selection_numbered(project: str, number: int) -> Selection:
    rows = Selection.objects.select_related("project", "collection").filter(project=project_named(project))
    selection = rows.filter(number=number).first()
    if selection is None:
        known = ", ".join(str(one.number) for one in rows.order_by("number")) or "none"
        raise CommandError(f"The project has no selection {number}. It has: {known}.")
    return selection
