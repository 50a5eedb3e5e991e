"""What the names of files say of their captions: the language, the model, the series."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from crosslens_metrics.formats.caption_rows import KNOWN_LANGUAGES
from crosslens_metrics.language_tags import canonical_tag

SUFFIX = re.compile(r"\.(?:jsonl?|ndjson|csv|tsv|txt|parquet|xlsx|gz|zip|tar|tgz)$", re.IGNORECASE)
LANGUAGE_AT_END = re.compile(r"(?:^|[._-])(?P<tag>[A-Za-z]{2,3}(?:[-_][A-Z]{2})?)$")
ALSO_WORDS = frozenset({"id", "no", "it"})
"""Tags that may be other words at the end of a name, unless a point parts them."""
NUMBERED = re.compile(r"(?P<name>.+)\.[0-9]\.(?P<language>[A-Za-z]{2,3})(?:\.(?:gz|txt))*")
RESULTS_NAME = re.compile(r"captions_[^_]+_(?P<model>.+)_results")


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
