"""What a release has: its counts, the places of its images, and what differs from the release before it.

Places are kept with the release as they were when it was made, so that it can be built again after borders, places or
selections changed.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from django.core.files.storage import default_storage
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from annotation.models import Caption, Release, Round
from annotation.rules.releases import UNKNOWN_PLACE, ReleasedPlace
from annotation.selectors.releases import release_before
from core.images.models import Image
from crosslens_metrics.caption_stats import CaptionStatistics
from research.selection.models import ImagePlace, PlaceLevelChoice
from research.selection.selectors.image_places import origins_of

NO_FAULT = ""
POINT = ("image", "latitude", "longitude")


def snapshot_of(release: Release, rounds: Iterable[Round]) -> dict[str, Any]:
    """Return places as JSON values: versions of the borders and tables, and a `ReleasedPlace` by the image's hash.

    The place of an image that was chosen is the one that it was chosen by.
    """
    counted = Caption.objects.counted().filter(round__in=list(rounds), submitted_at__lte=release.until)
    images = counted.order_by().values("image")
    digests = dict(Image.objects.filter(pk__in=images).order_by().values_list("pk", "sha256"))
    points: dict[int, tuple[float, float]] = {}
    if release.has_coordinates:
        located = ImagePlace.objects.filter(image__in=images, problem=NO_FAULT).order_by()
        points = {image: (north, east) for image, north, east in located.values_list(*POINT).iterator()}
    origins = origins_of(release.project, digests)
    found: dict[str, ReleasedPlace] = {}
    for image, origin in origins.items():
        latitude, longitude = points.get(image, (None, None))
        found[digests[image]] = ReleasedPlace(
            origin.countries,
            origin.regions,
            origin.continent,
            chosen_for=origin.chosen_for,
            level=origin.level,
            latitude=latitude,
            longitude=longitude,
        )
    return {
        "borders": sorted({origin.borders for origin in origins.values()} - {""}),
        "tables": sorted({origin.table for origin in origins.values()} - {""}),
        "images": {digest: list(place) for digest, place in sorted(found.items())},
    }


class ReleasePlaces:
    """The places of a release, and how many of its images come from which level."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self.borders: list[str] = stored.get("borders", [])
        self.tables: list[str] = stored.get("tables", [])
        self._images: Mapping[str, list[Any]] = stored.get("images", {})
        self.located = 0
        self._levels: Counter[tuple[str, str]] = Counter()

    def of(self, digest: str) -> ReleasedPlace:
        """Return the place of an image, and count it."""
        place = ReleasedPlace(*self._images[digest]) if digest in self._images else UNKNOWN_PLACE
        self.located += bool(place.countries or place.continent)
        if place.level:
            self._levels[place.chosen_for, place.level] += 1
        return place

    @property
    def levels(self) -> dict[str, dict[str, int]]:
        """How many images chosen for each language came from each level."""
        tags = sorted({tag for tag, _level in self._levels})
        return {tag: {level: self._levels[tag, level] for level in PlaceLevelChoice.values} for tag in tags}


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

    Raises ReleaseNotPossibleError where the files of the release before are gone.
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


FORMAT = 6
"""Version of the files' format. A program that reads a release uses it to know what to expect.

Earlier releases are built again in theirs. Since 2, images have their places and levels; since 4, the shares of
quality have intervals over authors; since 5, croissant.json describes the files; since 6, guidelines have the
translations that were shown.
"""


@dataclass
class LanguageContents:
    """What the release has of one language, and what was left out."""

    statistics: CaptionStatistics = field(default_factory=CaptionStatistics)
    annotators: set[str] = field(default_factory=set)
    reviewers: set[str] = field(default_factory=set)
    reviewers_of_verified: set[str] = field(default_factory=set)
    units: list[int] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    authors: list[str | None] = field(default_factory=list)
    """Of `units`: who wrote the caption, None where it came from a file."""
    unfinished: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    writing_ms: int = 0
    timed: int = 0
    from_files: int = 0


class VerifiedCaption(NamedTuple):
    """The verdicts on one caption by reviewer, and the overall level once all of them are there."""

    rows: list[tuple[Any, ...]]
    level: str | None


NOT_VERIFIED = VerifiedCaption([], None)


@dataclass
class ReleaseContents:
    """The counts of the whole release."""

    rounds: list[Round]
    by_language: dict[str, LanguageContents]
    places: ReleasePlaces = field(default_factory=lambda: ReleasePlaces({}))
    captions: CaptionNames = field(default_factory=CaptionNames)
    left_out: dict[str, str] = field(default_factory=dict)
    guidelines: set[int] = field(default_factory=set)
    images: int = 0
    verdicts: int = 0
    verdicts_left_out: int = 0
    english_ratings: int = 0
    first_day: str = ""
    last_day: str = ""
    image_licences: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    with_images: int = 0
    """Images whose files are in it."""

    def include_day(self, day: str | None) -> None:
        if day:
            self.first_day = min(self.first_day or day, day)
            self.last_day = max(self.last_day, day)
