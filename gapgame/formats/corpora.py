"""A folder that `build_corpus` wrote, as the source of an item set: docs/corpora.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.records import LineRecord
from gapgame.formats.task_folders import sha256_of
from gapgame.rules.corpus_items import ItemChoice, chosen_items

ITEMS, STATISTICS, PUBLISHED = "items.jsonl", "statistics.json", "steps/publish.json"
MADE_WITH = ("version", "settings", "files", "tools")


def is_corpus(path: Path) -> bool:
    return (path / ITEMS).is_file()


def origin_of(folder: Path, choice: ItemChoice) -> dict[str, Any]:
    """Return what a set says of its corpus: name, fingerprint, which items were drawn, and the configuration.

    Raises
    ------
    FileRefusedError
        Where the corpus is not built, or its items are not those that were built.
    """
    try:
        published, statistics = (
            json.loads((folder / name).read_text(encoding="utf-8")) for name in (PUBLISHED, STATISTICS)
        )
    except FileNotFoundError as error:
        raise FileRefusedError(_("The corpus in this folder is not built. Run build_corpus to its end.")) from error
    if sha256_of(folder / ITEMS) != published["counts"]["sha256"][ITEMS]:
        raise FileRefusedError(
            _("“%(name)s” was changed after it was built. Run build_corpus with --step publish --again.")
            % {"name": ITEMS}
        )
    return {
        "name": published["settings"]["name"],
        "fingerprint": published["fingerprint"],
        "choice": asdict(choice),
        "configuration": {
            step: {name: made[name] for name in MADE_WITH} for step, made in statistics["made_by"].items()
        },
    }


def records_of(folder: Path, choice: ItemChoice) -> list[LineRecord]:
    """Return the items that are drawn, in the order of the file.

    Raises
    ------
    FileRefusedError
        Where there are none.
    """
    drawn = {item["key"] for item in chosen_items((line.value for line in _lines(folder)), choice)}
    if not drawn:
        raise FileRefusedError(_("No word with an image has a sense that so many languages share. Choose fewer."))
    return [line for line in _lines(folder) if line.value["key"] in drawn]


def _lines(folder: Path) -> Iterator[LineRecord]:
    with (folder / ITEMS).open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            yield LineRecord(number, json.loads(line))
