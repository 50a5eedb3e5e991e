"""The figures of scores and of their agreement with people, and why one may have no value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from crosslens_metrics.messages import gettext
from crosslens_metrics.messages import gettext_noop as _
from crosslens_metrics.reports.figures import Absent
from crosslens_metrics.undefined import Reason, UndefinedFigureError

T = TypeVar("T")

MESSAGES: dict[Reason, str] = {
    Reason.NO_IMAGES: _("There is no image to score."),
    Reason.NO_VARIATION: _("All are alike, so they do not show by how much the figure would vary."),
    Reason.RESAMPLES_UNDEFINED: _("There are too few values: the figure is undefined in some bootstrap resamples."),
    Reason.NO_WORDS: _("No reference has a word."),
    Reason.NO_KNOWN_WORD: _("A caption has no word that has a vector."),
    Reason.TOO_FEW_POINTS: _("A correlation needs at least two values."),
    Reason.ALL_VALUES_EQUAL: _("One of the two is the same everywhere, so there is no correlation."),
    Reason.SAME_IN_ALL_EVALUATIONS: _(
        "One of the two has the same value in every evaluation, so there is nothing to correlate. With flipped signs "
        "it would vary, but only because of which model was called the base."
    ),
    Reason.ONE_SIGN_ONLY: _("One of the two is always better or never better, so its signs tell nothing."),
}


@dataclass(frozen=True)
class Undefined(Absent):
    reason: Reason

    @property
    def message(self) -> str:
        return gettext(MESSAGES[self.reason])


def defined(figure: Callable[[], T]) -> T | Undefined:
    """What `figure` gives, or why it gives nothing."""
    try:
        return figure()
    except UndefinedFigureError as undefined:
        return Undefined(undefined.reason)
