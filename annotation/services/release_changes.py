"""What differs between a release and the one before it, by the names of the captions in both."""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from django.core.files.storage import default_storage
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from annotation.models import Release
from annotation.selectors.releases import release_before

ID_DIGITS = 16
"""Length of a SHA-256 in hexadecimal: among a million captions, two collide with a chance of 1 in 37 million."""

LINES_PER_BEAT = 20_000
IMAGE = "image-left-out"
OTHER = "not-released"
"""Why a caption that still counts is gone: its round is no longer accepted."""

REASONS = {
    "excluded": "excluded by a manager",
    "withdrawn": "its author withdrew consent",
    "returned": "returned to its author",
    "late": "came late",
    IMAGE: "of an image that was left out of results",
    OTHER: "its language or image is no longer part of the release",
}


class ReleaseNotPossibleError(Exception):
    """A release cannot be made; the message says why."""


def short_digest(said: str) -> str:
    return sha256(said.encode()).hexdigest()[:ID_DIGITS]


class CaptionNames:
    """The names of many captions, what each says and in which language, at 18 bytes each."""

    def __init__(self) -> None:
        self._ids, self._texts, self._languages = array("Q"), array("Q"), array("H")
        self._tags: dict[str, int] = {}

    def add(self, caption_id: str, language: str, text: str) -> None:
        self._ids.append(int(caption_id, 16))
        self._texts.append(int(short_digest(text), 16))
        self._languages.append(self._tags.setdefault(language, len(self._tags)))

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def tags(self) -> list[str]:
        return list(self._tags)

    def in_order(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint16]]:
        """Pack the names, texts and positions in `tags`, by name."""
        ids = np.frombuffer(self._ids, dtype=np.uint64)
        order = np.argsort(ids)
        texts = np.frombuffer(self._texts, dtype=np.uint64)
        return ids[order], texts[order], np.frombuffer(self._languages, dtype=np.uint16)[order]


class ChangedCaption(NamedTuple):
    id: str
    language: str
    change: str
    reason: str


@dataclass
class ReleaseChanges:
    """Changes since release `since`: captions added, changed and removed, by language; for those removed, why."""

    since: int
    kept: int = 0
    added: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    removed: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    listed: Callable[[], Iterator[ChangedCaption]] = field(default=lambda: iter(()))

    def as_counts(self) -> dict[str, Any]:
        return {
            "since": self.since,
            "kept": self.kept,
            "added": dict(sorted(self.added.items())),
            "changed": dict(sorted(self.changed.items())),
            "removed": {tag: dict(sorted(reasons.items())) for tag, reasons in sorted(self.removed.items())},
        }


def changes_since(
    release: Release, captions: CaptionNames, left_out: Mapping[str, str], *, beat: Callable[[], None]
) -> ReleaseChanges | None:
    """Return the changes since the previous release; None if there was none. `left_out`: why, by name of a caption.

    Raises
    ------
    ReleaseNotPossibleError
        Where the files of the release before are gone.
    """
    before = release_before(release)
    if before is None:
        return None
    old = CaptionNames()
    try:
        with default_storage.open(f"{before.folder}/captions.jsonl") as file:
            for number, line in enumerate(file):
                row = json.loads(line)
                old.add(row["id"], row["language"], row["caption"])
                if number % LINES_PER_BEAT == 0:
                    beat()
    except FileNotFoundError as error:
        said = _("The files of release %(number)d are not in storage, so changes since then cannot be counted.")
        raise ReleaseNotPossibleError(said % {"number": before.number}) from error
    return _compared(before.number, old, captions, left_out)


def _compared(since: int, old: CaptionNames, new: CaptionNames, left_out: Mapping[str, str]) -> ReleaseChanges:
    old_ids, old_texts, old_languages = old.in_order()
    new_ids, new_texts, new_languages = new.in_order()
    _both, in_old, in_new = np.intersect1d(old_ids, new_ids, assume_unique=True, return_indices=True)
    differ = old_texts[in_old] != new_texts[in_new]
    is_gone, is_added = np.ones(len(old_ids), dtype=bool), np.ones(len(new_ids), dtype=bool)
    is_gone[in_old], is_added[in_new] = False, False
    changed = in_new[differ]

    def listed() -> Iterator[ChangedCaption]:
        for place in np.flatnonzero(is_added):
            yield ChangedCaption(_name(new_ids[place]), new.tags[new_languages[place]], "added", "")
        for place in changed:
            yield ChangedCaption(_name(new_ids[place]), new.tags[new_languages[place]], "changed", "")
        for place in np.flatnonzero(is_gone):
            name = _name(old_ids[place])
            yield ChangedCaption(name, old.tags[old_languages[place]], "removed", left_out.get(name, OTHER))

    changes = ReleaseChanges(since, kept=len(in_old) - int(differ.sum()), listed=listed)
    for change in listed():
        if change.change == "removed":
            changes.removed[change.language][change.reason] += 1
        else:
            getattr(changes, change.change)[change.language] += 1
    return changes


def _name(number: np.uint64) -> str:
    return f"{int(number):0{ID_DIGITS}x}"
