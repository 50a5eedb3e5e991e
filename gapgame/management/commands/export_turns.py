"""`manage.py export_turns SEASON [--output FILE]`"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gapgame.formats.turn_export import SeasonNotClosedError, export_to_file, export_turns
from gapgame.models import Season


class Command(BaseCommand):
    help = "Write the turns of a closed season as JSON Lines, to a file or to standard output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("season", metavar="SEASON", help="last part of the season's address")
        parser.add_argument(
            "--output",
            type=Path,
            metavar="FILE",
            help="output file, written completely or not at all (default: standard output)",
        )

    def handle(self, *, season: str, output: Path | None, **options: Any) -> None:
        chosen = _season(season)
        try:
            if output is None:
                for piece in export_turns(chosen):
                    sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
                return
            export_to_file(chosen, output)
        except SeasonNotClosedError as refused:
            raise CommandError(str(refused)) from refused
        except OSError as error:
            raise CommandError(f"The file {output} cannot be written: {error.strerror}.") from error
        self.stderr.write(f"Written to {output}.")


def _season(slug: str) -> Season:
    found = Season.objects.select_related("project", "item_set").filter(slug=slug).first()
    if found is None:
        known = ", ".join(Season.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no season {slug!r}. Available: {known}.")
    return found
