"""The figures of scores and of their agreement with people, and why one may have no value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from crosslens_metrics.messages import gettext
from crosslens_metrics.messages import gettext_noop as _
from crosslens_metrics.reports.figures import AbsentFigure
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

T = TypeVar("T")

MESSAGES: dict[UndefinedReason, str] = {
    UndefinedReason.NO_IMAGES: _("There is no image to score."),
    UndefinedReason.NO_VARIATION: _("All are alike, so they do not show by how much the figure would vary."),
    UndefinedReason.RESAMPLES_UNDEFINED: _(
        "There are too few values: the figure is undefined in some bootstrap resamples."
    ),
    UndefinedReason.NO_WORDS: _("No reference has a word."),
    UndefinedReason.NO_KNOWN_WORD: _("A caption has no word that has a vector."),
    UndefinedReason.TOO_FEW_POINTS: _("A correlation needs at least two values."),
    UndefinedReason.ALL_VALUES_EQUAL: _("One of the two is the same everywhere, so there is no correlation."),
    UndefinedReason.SAME_IN_ALL_EVALUATIONS: _(
        "One of the two has the same value in every evaluation, so there is nothing to correlate. With flipped signs "
        "it would vary, but only because of which model was called the base."
    ),
    UndefinedReason.ONE_SIGN_ONLY: _("One of the two is always better or never better, so its signs tell nothing."),
}


@dataclass(frozen=True)
class UndefinedScore(AbsentFigure):
    reason: UndefinedReason

    @property
    def message(self) -> str:
        return gettext(MESSAGES[self.reason])


def value_or_reason(figure: Callable[[], T]) -> T | UndefinedScore:
    """What `figure` gives, or why it gives nothing."""
    try:
        return figure()
    except UndefinedFigureError as undefined:
        return UndefinedScore(undefined.reason)
