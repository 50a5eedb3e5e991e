"""What the names of files say of their captions: the language, the model, the series."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from crosslens_metrics.formats.caption_rows import KNOWN_LANGUAGES
from crosslens_metrics.language_tags import canonical_tag

SUFFIX = re.compile(r"\.(?:jsonl?|ndjson|csv|tsv|txt|parquet|xlsx|gz|zip|tar|tgz)$", re.IGNORECASE)
LANGUAGE_AT_END = re.compile(r"(?:^|[._-])(?P<tag>[A-Za-z]{2,3}(?:[-_][A-Z]{2})?)$")
ALSO_WORDS = frozenset({"id", "no", "it"})
"""Tags that may be other words at the end of a name, unless a point parts them."""
NUMBERED = re.compile(r"(?P<name>.+)\.[0-9]\.(?P<language>[A-Za-z]{2,3})(?:\.(?:gz|txt))*")
RESULTS_NAME = re.compile(r"captions_[^_]+_(?P<model>.+)_results")


class ListOfImages(NamedTuple):
    """The names of images in a list beside sentences."""

    path: str
    names: tuple[str, ...]


def lists_for(path: str, lists: Sequence[ListOfImages], sentences: Sequence[str]) -> list[ListOfImages]:
    """Those of the `lists` that may be the one of the sentences in the file at `path`.

    That is the one with the nearest name: two test sets of Multi30k have as many images. What is named after the
    sentences of another file is that one's. Equal lists count as one.
    """
    ours, others = _begins(path), {_begins(other) for other in sentences} - {_begins(path)}
    alike = {one: _in_common(ours, _begins(one.path)) for one in lists}
    free = [one for one in lists if alike[one] or not any(_in_common(other, _begins(one.path)) for other in others)]
    most = max((alike[one] for one in free), default=0)
    return list({one.names: one for one in free if alike[one] == most}.values())


def _begins(path: str) -> str:
    """What the files of one part of a data set share, in any case: `val` of `val.1.de`, `Val.de.gz` and `val.txt`."""
    return stem_of(path).partition(".")[0].casefold()


def _in_common(one: str, other: str) -> int:
    """How near two names are, if one begins with the other: nearest if equal, and else the longer what both have."""
    shared = min(len(one), len(other)) if one.startswith(other) or other.startswith(one) else 0
    return 2 * shared + (one == other)


def stem_of(path: str) -> str:
    name = PurePosixPath(path.replace("\\", "/")).name
    while (shorter := SUFFIX.sub("", name)) != name and shorter:
        name = shorter
    return name


def language_in_name(path: str) -> str:
    """The language that a name such as `train.de.gz` or `captions_pt-BR.json` ends in; "" if it ends in none."""
    stem = stem_of(path)
    match = LANGUAGE_AT_END.search(stem)
    if match is None:
        return ""
    tag = canonical_tag(match["tag"])
    is_clear = stem[: match.start() + 1].endswith(".") or match["tag"].lower() not in ALSO_WORDS
    return tag if tag.split("-")[0] in KNOWN_LANGUAGES and is_clear else ""


def model_in_name(path: str) -> str:
    """What a file of results is called, without its language and what COCO's names have around the model."""
    stem = stem_of(path)
    if language_in_name(path) and (match := LANGUAGE_AT_END.search(stem)):
        stem = stem[: match.start()] or stem
    results = RESULTS_NAME.fullmatch(stem)
    return results["model"] if results else stem
