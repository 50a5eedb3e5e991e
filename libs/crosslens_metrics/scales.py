"""Scales of side-by-side judgements: what a rater can answer, and no other place says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from crosslens_metrics.messages import gettext_noop as _

MAX_LEVELS = 9
"""The keys 1 to 9 choose a level."""


@dataclass(frozen=True)
class ScaleLevel:
    """One answer. The same number is a rater's choice (left against right) and a score (test against base)."""

    number: int
    name: str
    """Of the score, in reports and files."""
    choice: str
    """Of the choice, in files."""
    label: str
    """Of the choice, for raters."""
    short: str
    """The label where columns already say left and right."""


@dataclass(frozen=True)
class Scale:
    """The levels that a rater can choose from, from left much better to right much better.

    Raises ValueError where a level lacks its opposite, which is the same answer with the sides swapped, where they are
    out of order, or where there are too many for the keys.
    """

    title: str
    levels: tuple[ScaleLevel, ...]

    def __post_init__(self) -> None:
        if list(self.numbers) != sorted(set(self.numbers), reverse=True):
            raise ValueError(f"The levels of “{self.title}” must go down, each with a number of its own.")
        if any(-number not in self for number in self.numbers):
            raise ValueError(f"Each level of “{self.title}” needs its opposite.")
        if len(self.levels) > MAX_LEVELS:
            raise ValueError(f"“{self.title}” has {len(self.levels)} levels, but keys for {MAX_LEVELS}.")

    @property
    def points(self) -> int:
        """How many levels it has, which is also how the database and files name it."""
        return len(self.levels)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(level.number for level in self.levels)

    @property
    def keys(self) -> Mapping[str, ScaleLevel]:
        """Each level by the key that chooses it."""
        return {str(place): level for place, level in enumerate(self.levels, start=1)}

    def __contains__(self, number: object) -> bool:
        return number in self.numbers

    def __getitem__(self, number: int) -> ScaleLevel:
        return {level.number: level for level in self.levels}[number]


SEVEN_POINTS = Scale(
    _("7 points"),
    (
        ScaleLevel(3, "MUCH-BETTER", "left much better", _("Left is much better"), _("much better")),
        ScaleLevel(2, "BETTER", "left better", _("Left is better"), _("better")),
        ScaleLevel(
            1,
            "SLIGHTLY-BETTER",
            "left slightly better",
            _("Left is slightly better"),
            _("slightly better"),
        ),
        ScaleLevel(0, "SIMILAR", "similar", _("Both are similar"), _("similar")),
        ScaleLevel(
            -1,
            "SLIGHTLY-WORSE",
            "right slightly better",
            _("Right is slightly better"),
            _("slightly better"),
        ),
        ScaleLevel(-2, "WORSE", "right better", _("Right is better"), _("better")),
        ScaleLevel(-3, "MUCH-WORSE", "right much better", _("Right is much better"), _("much better")),
    ),
)
FIVE_POINTS = Scale(
    _("5 points, without “slightly”"),
    tuple(level for level in SEVEN_POINTS.levels if abs(level.number) != 1),
)
"""(ours) A level keeps its number on the shorter scale, so that one table can have figures of both."""

SCALES: Mapping[int, Scale] = {scale.points: scale for scale in (SEVEN_POINTS, FIVE_POINTS)}
"""All there are, by `points`; the first is offered first."""


def level_names() -> dict[str, str]:
    """Return what the buttons say, by the name that stands in instructions, such as MUCH_BETTER."""
    return {level.choice.replace("-", "_"): str(level.short) for level in SEVEN_POINTS.levels}
