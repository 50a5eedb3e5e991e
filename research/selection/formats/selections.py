"""Write a selection as JSON."""

from __future__ import annotations

from typing import Any

from research.selection.formats.selection_files import place_as_json
from research.selection.models import Selection
from research.selection.selectors.pools import place_of
from research.selection.selectors.selections import language_rows, slugs_by_language


def selection_as_json(selection: Selection) -> dict[str, Any]:
    """Return images and counts by language, as `select_images --json` prints them."""
    rows = {row.language.tag: row for row in language_rows(selection) if row.language is not None}
    chosen = selection.selected_images.order_by("language", "position")
    return {
        "selection": selection.number,
        "collection": selection.collection.slug if selection.collection else None,
        "collections": slugs_by_language(selection),
        "table": selection.table,
        "borders": selection.borders,
        "images": [
            {"key": one.key, "language": one.language_id, "level": one.level, **place_as_json(place_of(one))}
            for one in chosen.iterator()
        ],
        "languages": {tag: {one.level.value: one.chosen for one in row.levels} for tag, row in sorted(rows.items())},
        "pools": {tag: {one.level.value: one.pool for one in row.levels} for tag, row in sorted(rows.items())},
        "free": {tag: {one.level.value: one.free for one in row.levels} for tag, row in sorted(rows.items())},
        "missing": {tag: row.missing for tag, row in sorted(rows.items())},
        "left_out": selection.counts.get("left_out", {}),
    }
