"""The counts of a release, for the texts that accompany its tables."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from annotation.models import Round
from annotation.services.release_changes import CaptionNames
from annotation.services.release_places import ReleasePlaces
from crosslens_metrics.caption_stats import CaptionStatistics

FORMAT = 3
"""Version of the files' format. A program that reads a release uses it to know what to expect.

Earlier releases are built again in theirs. Since 2, images have their places and levels.
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

    def include_day(self, day: str | None) -> None:
        if day:
            self.first_day = min(self.first_day or day, day)
            self.last_day = max(self.last_day, day)
