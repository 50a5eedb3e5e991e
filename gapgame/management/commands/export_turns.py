"""`manage.py export_turns SEASON [--output FILE]`"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.people.management.arguments import add_output, write_export
from gapgame.formats.turn_files import SeasonNotClosedError, export_turns
from gapgame.models import Season


class Command(BaseCommand):
    help = "Write the turns of a closed season as JSON Lines, to a file or to standard output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("season", metavar="SEASON", help="last part of the season's address")
        add_output(parser)

    def handle(self, *, season: str, output: Path | None, **options: Any) -> None:
        chosen = _season(season)
        try:
            write_export(self, export_turns(chosen), output)
        except SeasonNotClosedError as refused:
            raise CommandError(str(refused)) from refused


def _season(slug: str) -> Season:
    season = Season.objects.select_related("project", "item_set").filter(slug=slug).first()
    if season is None:
        known = ", ".join(Season.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no season {slug!r}. Available: {known}.")
    return season
