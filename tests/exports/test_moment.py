"""A file whose rows are not chosen by time is of one moment all the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import pytest

from gapgame.models import Attempt, Turn
from office.exports.selectors.tables import ExportTable, ExportWish, table_of
from office.exports.services import exports
from tests.concurrency import together
from tests.exported import LATER
from tests.factories import make_player, make_season
from tests.gapgame.seasons import close, play

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


def rows_with_a_change(change: Callable[[], object]) -> Callable[[ExportWish], ExportTable]:
    """The table, of which somebody else changes something once its first row was read."""

    def changed(wish: ExportWish) -> ExportTable:
        table = table_of(wish)

        def rows() -> Iterator[Sequence[Any]]:
            remaining = iter(table.rows)
            yield next(remaining)
            together(lambda _: change(), [None])
            yield from remaining

        return ExportTable(table.columns, rows())

    return changed


@pytest.mark.parametrize("is_guarded", [True, False])
def test_what_is_changed_while_a_file_is_written_is_not_in_it(monkeypatch, is_guarded):
    season = make_season(batch_size=10)
    player = make_player(season, "ann")
    for item in season.item_set.items.all()[:2]:
        play(player, item=item, guesses=(item.word,))
    season = close(season)
    last = Turn.objects.order_by("batch").last()
    monkeypatch.setattr("gapgame.selectors.turns.TURNS_AT_ONCE", 1)
    of_last = Attempt.objects.filter(turn=last)
    monkeypatch.setattr(exports, "table_of", rows_with_a_change(lambda: of_last.update(guess="changed")))
    if not is_guarded:
        monkeypatch.setattr(exports, "one_moment", nullcontext)

    wish = ExportWish(season.project, "turns", "jsonl", LATER, season=season.slug)
    lines = [json.loads(line) for line in b"".join(exports.export(wish)).splitlines()]

    assert (lines[-1]["attempts"][0]["guess"] == "changed") is not is_guarded
    assert of_last.get().guess == "changed"
