"""What reports are made of: figures that are there, or say why they are not, and how both become JSON."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from crosslens_metrics.messages import gettext
from crosslens_metrics.messages import gettext_noop as _
from crosslens_metrics.sampling.designs import SamplingDesign
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.signatures import Signature
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason

T = TypeVar("T")


class ReportFigure:
    """Base of all parts of a report."""

    def as_json(self) -> dict[str, Any]:
        return {field.name: as_json(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class AbsentFigure(ReportFigure):
    """Stands where a figure has no value; `reason` is a stable code. Each kind of report has messages of its own."""

    messages: ClassVar[Mapping[Any, str]]
    reason: StrEnum

    @property
    def message(self) -> str:
        return gettext(self.messages[self.reason])

    @classmethod
    def value_or_reason(cls, figure: Callable[[], T]) -> T | Self:
        """What `figure` gives, or why it gives nothing."""
        try:
            return figure()
        except UndefinedFigureError as undefined:
            return cls(undefined.reason)

    def as_json(self) -> dict[str, Any]:
        return {"undefined": str(self.reason), "message": self.message}


def as_json(value: Any) -> Any:
    """`value` of plain JSON types: no NaN, no infinity."""
    if isinstance(value, ReportFigure | SamplingDesign):
        return value.as_json()
    if isinstance(value, Signature):
        return str(value)
    if isinstance(value, Interval):
        return {"low": value.low, "high": value.high} | ({"design": value.design.as_json()} if value.design else {})
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("A figure without a value must be Undefined.")
    return value


MESSAGES: dict[UndefinedReason, str] = {
    UndefinedReason.NO_IMAGES: _("There is no image to score."),
    UndefinedReason.FEW_IMAGES: _(
        "Fewer than 8 images are not resampled, and Student’s t needs a mean over images that do not depend on others."
    ),
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
    UndefinedReason.EXACT_AGREEMENT: _("A coefficient of exactly 1 or −1 shows no uncertainty, and is no certainty."),
    UndefinedReason.TOO_FEW_MODELS: _(
        "An interval needs evaluations of three models or more, or of two models in two languages or more."
    ),
    UndefinedReason.UNIT_NEEDED: _(
        "Without one of the models (or languages, if there are two models), the coefficient is undefined or exactly 1 "
        "or −1: there are too few models (or languages) for an interval."
    ),
    UndefinedReason.NOT_EXCHANGEABLE: _(
        "No two models were compared in the same languages with the same others, so none can change places."
    ),
    UndefinedReason.ONE_SIGN_ONLY: _("One of the two is always better or never better, so its signs tell nothing."),
}


@dataclass(frozen=True)
class UndefinedScore(AbsentFigure):
    messages = MESSAGES
    reason: UndefinedReason


value_or_reason = UndefinedScore.value_or_reason

COMPUTED_DIGITS = 12
"""What is beyond is noise of floating-point numbers, and must not decide which way a half is rounded."""


CERTAIN = (-1, 1)
"""The ends of the scale of a coefficient."""


def shown_digits(value: float, digits: int, ends: Sequence[float] = (0, 100)) -> int:
    """So many more digits as it takes that a figure near an end of its scale does not pass for the end itself."""
    exact = round(value, COMPUTED_DIGITS)
    return next(
        number for number in range(digits, COMPUTED_DIGITS + 1) if exact in ends or round(exact, number) not in ends
    )


def percent_text(percent: float, digits: int = 1) -> str:
    """Without its sign; 100 or 0 only where it is that."""
    return f"{percent:z.{shown_digits(percent, digits)}f}"


def signed_points(points: float) -> str:
    """A gain; ±100 only where it is that."""
    return f"{points:+z.{shown_digits(points, 1, (-100, 100))}f}"


def rounded_number(value: float, digits: int, *, ends: Sequence[float] = ()) -> str:
    """Halves go away from zero; there is no minus before zero; an end of the scale is only what is exactly there."""
    digits = shown_digits(value, digits, ends)
    exact = Decimal(repr(round(value, COMPUTED_DIGITS)))
    figure = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return f"{figure or abs(figure):f}"


def with_interval(
    value: float | UndefinedScore,
    interval: Interval | UndefinedScore | None,
    digits: int,
    *,
    ends: Sequence[float] = (),
) -> str:
    if isinstance(value, UndefinedScore):
        return "undefined"
    text = rounded_number(value, digits, ends=ends)
    if isinstance(interval, UndefinedScore):
        return f"{text} [undefined]"
    if interval is None:
        return text
    low, high = (rounded_number(bound, digits, ends=ends) for bound in (interval.low, interval.high))
    return f"{text} [{low}, {high}]"


def random_stream(seed: int, figure: str) -> np.random.Generator:
    """Random numbers of one figure, by its name; `seed` may be negative, as those of a database are."""
    return np.random.default_rng([seed % 2**64, zlib.crc32(figure.encode())])


def table_lines(rows: Sequence[Sequence[str]], *, indent: str = "  ") -> Iterator[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        yield indent + "  ".join([first.ljust(widths[0]), *cells]).rstrip()
