"""All turns of a season as a file: one turn a line, in constant memory. Only once the season is closed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext as _

from gapgame.models import Season
from gapgame.selectors.turns import turn_records
from tabular.downloads import JSON_LINES_TYPE, in_pieces, json_line, stamp

CONTENT_TYPE = JSON_LINES_TYPE


class SeasonNotClosedError(Exception):
    """The season is open or being scored: its turns would reveal a table of scores."""


def export_turns(season: Season) -> Iterator[bytes]:
    """Yield the file, piece by piece.

    Raises
    ------
    SeasonNotClosedError
        At once, before anything is read.
    """
    if season.closed_at is None:
        raise SeasonNotClosedError(
            _(
                "You can download the turns of “%(season)s” once it is closed, within seconds after the "
                "cut-off. Before that, they would reveal the scores."
            )
            % {"season": season.name}
        )
    return in_pieces(map(json_line, turn_records(season)))


def file_name(season: Season, now: datetime) -> str:
    return f"{season.slug}-turns-{stamp(now)}.jsonl"
