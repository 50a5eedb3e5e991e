"""Store candidates by the hundred thousand: `bulk_create` spends most of its time on making objects and SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter

from django.db import connection

from geography.places import PointPlace
from research.selection.models import Candidate, CandidateList
from research.selection.rules.candidates import CandidateLine

LINE_FIELDS = tuple(field.name for field in fields(CandidateLine))
COLUMNS = ("list_id", "countries", "regions", "continent", *LINE_FIELDS)

_of_line = attrgetter(*LINE_FIELDS)


def insert(candidates: CandidateList, lines: Sequence[CandidateLine], places: Iterable[PointPlace]) -> None:
    """Insert a row for each line with its place, in the transaction of the caller.

    The constraints of the database hold as always; nothing else looks at the values.
    """
    rows = [
        (candidates.pk, " ".join(place.countries), " ".join(place.regions), place.continent, *_of_line(line))
        for line, place in zip(lines, places, strict=True)
    ]
    quoted = connection.ops.quote_name
    table = quoted(Candidate._meta.db_table)
    columns = ", ".join(map(quoted, COLUMNS))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            marks = ", ".join(["%s"] * len(COLUMNS))
            cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)  # noqa: S608 own names
