"""Objects of MultiSubs' files as lines of a file of items. docs/game-files.md tells which names are published."""

from __future__ import annotations

from typing import Any

NAMES: dict[str, tuple[str, ...]] = {
    "key": ("key", "id"),
    "language": ("language", "lang"),
    "sentence": ("sentence", "text", "sent"),
    "word": ("word",),
    "start": ("start",),
    "split": ("split", "intersect"),
    "sense": ("sense", "synset", "synsets", "bnids"),
    "images": ("images", "imageIds", "image_ids"),
    "representative": ("representative",),
}
"""Our names, and the names under which each is looked for, the first that is there."""

TOKENS = "tokens"
POSITIONS = ("index", "position", "pos")
GAP = "___"
LANGUAGE = "en"
NEEDED = {"language", "sentence", "word", "split", "images"}
ONLY_THEIRS = {TOKENS} | {name for ours, names in NAMES.items() for name in names if name != ours and name != "id"}


def looks_like_it(value: Any) -> bool:
    """Whether an object is of MultiSubs' files: it has names of theirs, and not all that each of ours must have."""
    return isinstance(value, dict) and not value.keys() >= NEEDED and bool(ONLY_THEIRS & value.keys())


def as_item(value: Any) -> Any:
    """The object with our names; what is no object is left as it is, for the check that tells of it."""
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
    """The tokens with spaces between them; where the place of the word is known, the gap in its place."""
    tokens = [str(token) for token in value[TOKENS]]
    place = next((value[name] for name in POSITIONS if isinstance(value.get(name), int)), None)
    word = value.get("word")
    if isinstance(place, int) and 0 <= place < len(tokens) and tokens[place].casefold() == str(word).casefold():
        tokens[place] = GAP
    return " ".join(tokens)


def cut(sentence: str, start: int, end: int, fragment: str) -> str | None:
    """`sentence` with a gap where `start` and `end` count characters or tokens, whichever holds `fragment`."""
    if 0 <= start < end and sentence[start:end].casefold() == fragment.casefold():
        return sentence[:start] + GAP + sentence[end:]
    tokens = sentence.split(" ")
    for last in (end, end + 1):  # whether the end is one beyond is not said
        if 0 <= start < last and " ".join(tokens[start:last]).casefold() == fragment.casefold():
            return " ".join([*tokens[:start], GAP, *tokens[last:]])
    return None
