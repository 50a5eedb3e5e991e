"""`manage.py language_table PROJECT`: print where a project's languages are spoken, or replace the table."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.people.management.arguments import project_named, user_named
from research.selection.rules.tables import TableError, data_of, shipped_table
from research.selection.selectors.tables import checked_table, table_of
from research.selection.services.tables import replace_table


class Command(BaseCommand):
    help = "Print a project's table of where languages are spoken as JSON, or replace it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="last part of the project's address")
        change = parser.add_mutually_exclusive_group()
        change.add_argument("--replace", type=Path, metavar="FILE.json", help="make this table the newest version")
        change.add_argument("--reset", action="store_true", help="return to the table that comes with the platform")
        parser.add_argument("--note", default="", help="why it is replaced, for its history and the audit log")
        parser.add_argument("--by", metavar="USERNAME", help="who replaces it, for its history and the audit log")

    def handle(
        self, *, project: str, replace: Path | None, reset: bool, note: str, by: str | None, **options: Any
    ) -> None:
        chosen = project_named(project)
        if replace is None and not reset:
            self.stdout.write(json.dumps(table_of(chosen).as_entries(), ensure_ascii=False, indent=1))
            return
        try:
            table = checked_table(_data(replace)) if replace else shipped_table()
        except TableError as error:
            raise CommandError("\n".join(error.problems)) from error
        user = user_named(by) if by else None
        made = replace_table(project=chosen, table=table, note=note.strip(), by=user, now=timezone.now())
        self.stdout.write(f"Version {made.number} of the table counts now." if made else "Nothing has changed.")


def _data(path: Path) -> object:
    try:
        return data_of(path.read_bytes())
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
