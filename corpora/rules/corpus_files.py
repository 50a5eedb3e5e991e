"""Guess from its name what a file of a corpus is."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

ENGLISH = "en"
PARTS = re.compile(r"[^a-z0-9-]+")
SENSES = ("sense", "wordnet", "inventory", "babelnet", "omw", "wn-")
VECTORS = ("glove", "word2vec", "vectors", "fasttext", ".vec")
RATINGS = ("rating", "imageab", "concrete")
PARALLEL_TEXT = {"tsv": "tsv", "txt": "tsv", "tmx": "tmx"}
INVENTORIES = {"tab": "omw", "xml": "lmf"}


@dataclass(frozen=True)
class Guess:
    """What a file may be; an empty role where its name does not tell."""

    role: str = ""
    language: str = ""
    side: str = ""
    format: str = ""


def guess(name: str, languages: Collection[str]) -> Guess:
    """Guess what a file is, such as Spanish text as TSV from `tatoeba.es.tsv`.

    Parameters
    ----------
    name : str
    languages : collection of str
        Tags that may be in a name, English among them.
    """
    lower = name.lower().removesuffix(".gz")
    ending = lower.rpartition(".")[2]
    tags = {tag.lower(): tag for tag in languages}
    found = [tags[part] for part in _parts(lower, tags)]
    other = next((tag for tag in found if tag != ENGLISH), "")
    if ending in tags and "." in lower and len(found) > 1:
        side = "english" if tags[ending] == ENGLISH else "other"
        return Guess("text", other, side, "moses")
    if any(word in lower for word in SENSES) or ending in INVENTORIES:
        return Guess("inventory", found[0] if found else "", "", INVENTORIES.get(ending, ""))
    if any(word in lower for word in RATINGS):
        return Guess("ratings")
    if any(word in lower for word in VECTORS):
        return Guess("vectors")
    if ending == "zip":
        return Guess("text", other, "", "opus") if other else Guess("images")
    if ending in PARALLEL_TEXT and other:
        return Guess("text", other, "", PARALLEL_TEXT[ending])
    return Guess({"npz": "features", "jsonl": "manifest", "csv": "manifest"}.get(ending, ""))


def _parts(name: str, tags: Collection[str]) -> list[str]:
    """List the tags in a name, the longest first where one is part of another, as pt-br has pt."""
    found = []
    for part in PARTS.split(name):
        if part in tags:
            found.append(part)
        else:
            found += [each for each in part.split("-") if each in tags]
    return found
