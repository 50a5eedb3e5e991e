"""What differs between two tables of where languages are spoken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from research.selection.rules.levels import PLACE_LEVELS, PlaceLevel
from research.selection.rules.tables import Areas, AreasTable


@dataclass(frozen=True)
class AreasChange:
    """What one language gains and loses, by level. `is_new` and `is_gone` tell of languages in one table only."""

    tag: str
    added: Mapping[PlaceLevel, Sequence[str]]
    removed: Mapping[PlaceLevel, Sequence[str]]
    is_new: bool = False
    is_gone: bool = False


def changes_between(before: AreasTable, after: AreasTable) -> list[AreasChange]:
    """Return the languages whose codes differ, by tag. Reasons do not count."""
    made = []
    for tag in sorted({*before.areas, *after.areas}):
        old, new = before.areas.get(tag, Areas()), after.areas.get(tag, Areas())
        if old != new:
            added, removed = _surplus(new, old), _surplus(old, new)
            made.append(
                AreasChange(tag, added, removed, is_new=tag not in before.areas, is_gone=tag not in after.areas)
            )
    return made


def _surplus(one: Areas, other: Areas) -> dict[PlaceLevel, list[str]]:
    by_level = {level: sorted(one.at(level) - other.at(level)) for level in PLACE_LEVELS}
    return {level: codes for level, codes in by_level.items() if codes}
