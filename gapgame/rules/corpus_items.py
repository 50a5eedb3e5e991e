"""Which words of a corpus become items of a game."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gapgame.rules.turns import SPLITS


@dataclass(frozen=True)
class ItemChoice:
    """At least `least` languages share a sense; at most `per_word` items of a word, and `most` in all."""

    least: int = 1
    per_word: int = 5
    most: int = 500
    seed: int = 0


@dataclass(order=True)
class _DrawnItem:
    rank: bytes
    item: Mapping[str, Any] = field(compare=False)


def chosen_items(items: Iterable[Mapping[str, Any]], choice: ItemChoice) -> list[Mapping[str, Any]]:
    """Draw items by the seed: the same for the same corpus, whatever the order of its lines.

    Parameters
    ----------
    items : iterable of dict
        Lines of a corpus's `items.jsonl`. They are read once; at most `per_word` of each word are kept. Those that
        the corpus says are `unplayable` are none: their import would refuse them.
    choice : Choice

    Returns
    -------
    list of dict
        In the order in which they were drawn.
    """
    words: dict[str, list[_DrawnItem]] = {}
    for item in items:
        if item.get("unplayable") or SPLITS.index(item["split"]) < choice.least:
            continue
        # Largest first, so that the heap's top is the one to leave out.
        drawn = _DrawnItem(_inverted(hashlib.sha256(f"{choice.seed}\0{item['key']}".encode()).digest()), item)
        heap = words.setdefault(item["word"].lower(), [])
        if len(heap) < choice.per_word:
            heapq.heappush(heap, drawn)
        else:
            heapq.heappushpop(heap, drawn)
    return [one.item for one in heapq.nlargest(choice.most, (one for heap in words.values() for one in heap))]


def _inverted(digest: bytes) -> bytes:
    return bytes(255 - byte for byte in digest)
