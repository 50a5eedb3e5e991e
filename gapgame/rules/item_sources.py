"""MultiSubs' objects, and words of a corpus, as lines of a file of items. docs/game-files.md lists their names."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gapgame.rules.turns import SPLITS

NAMES: dict[str, tuple[str, ...]] = {
    "key": ("key", "id"),
    "language": ("language", "lang"),
    "sentence": ("sentence", "text", "sent"),
    "word": ("word",),
    "start": ("start",),
    "split": ("split", "intersect"),
    "sense": ("sense", "synset", "synsets", "bnids"),
    "images": ("images", "imageIds", "imageids", "image_ids"),
    "representative": ("representative",),
}
"""Our names, and the names that each may have in a file; the first one present is used."""

TOKENS = "tokens"
POSITIONS = ("index", "position", "pos")
GAP = "___"
LANGUAGE = "en"
NEEDED = {"language", "sentence", "word", "split", "images"}
ONLY_THEIRS = {TOKENS} | {name for ours, names in NAMES.items() for name in names if name != ours and name != "id"}


def looks_like_it(value: Any) -> bool:
    """Return whether an object is from MultiSubs' files: it has their names, and lacks some required name of ours."""
    return isinstance(value, dict) and not value.keys() >= NEEDED and bool(ONLY_THEIRS & value.keys())


def as_item(value: Any) -> Any:
    """Return the object with our names; anything else is returned unchanged, for validation to report."""
    if not isinstance(value, dict):
        return value
    item = {
        ours: next(value[name] for name in names if name in value)
        for ours, names in NAMES.items()
        if any(name in value for name in names)
    }
    item.setdefault("language", LANGUAGE)
    if isinstance(item.get("key"), int):
        item["key"] = str(item["key"])
    for name in ("sense", "images"):
        if isinstance(item.get(name), str):
            item[name] = [item[name]]
    if isinstance(item.get("images"), list):
        item["images"] = [str(image) if isinstance(image, int) else image for image in item["images"]]
    if "sentence" not in item and isinstance(value.get(TOKENS), list):
        item["sentence"] = _joined(value)
    return item


def _joined(value: dict[str, Any]) -> str:
    """Join the tokens with spaces, with a gap for the word if its position is known."""
    tokens = [str(token) for token in value[TOKENS]]
    place = next((value[name] for name in POSITIONS if isinstance(value.get(name), int)), None)
    word = value.get("word")
    if isinstance(place, int) and 0 <= place < len(tokens) and tokens[place].casefold() == str(word).casefold():
        tokens[place] = GAP
    return " ".join(tokens)


def blanked_sentence(sentence: str, start: int, end: int, fragment: str) -> str | None:
    """Blank `sentence`, where `start` and `end` count characters or tokens, whichever gives `fragment`."""
    if 0 <= start < end and sentence[start:end].casefold() == fragment.casefold():
        return sentence[:start] + GAP + sentence[end:]
    tokens = sentence.split(" ")
    for last in (end, end + 1):  # the end may be inclusive or exclusive
        if 0 <= start < last and " ".join(tokens[start:last]).casefold() == fragment.casefold():
            return " ".join([*tokens[:start], GAP, *tokens[last:]])
    return None


@dataclass(frozen=True)
class ItemChoice:
    """At least `least` languages share a sense; at most `per_word` items of a word, and `most` in all."""

    least: int = 1
    per_word: int = 5
    most: int = 500
    seed: int = 0


CHOICE_LIMITS = {"least": (0, len(SPLITS) - 1), "per_word": (1, 1000), "most": (1, 10**6), "seed": (0, 2**63 - 1)}
"""The smallest and the largest value of each part of a choice."""


@dataclass(order=True)
class _DrawnItem:
    rank: bytes
    item: Mapping[str, Any] = field(compare=False)


def chosen_items(items: Iterable[Mapping[str, Any]], choice: ItemChoice) -> list[Mapping[str, Any]]:
    """Draw items by the seed: the same for the same corpus, whatever the order of its lines.

    - `items`: lines of a corpus's `items.jsonl`. They are read once; at most `per_word` of each word are kept. Those
      that the corpus says are `unplayable` are none: their import would refuse them.
    - returned: in the order in which they were drawn.
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
