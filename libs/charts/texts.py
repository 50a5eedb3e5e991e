"""Numbers and probabilities as text, and pieces of plots as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from django.utils.formats import number_format
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from crosslens_metrics.reports.figures import CERTAIN, AbsentFigure, shown_digits

if TYPE_CHECKING:
    from crosslens_metrics.sampling.intervals import Interval

MINUS = "−"
MIN_P = 0.0001


def plain_number(value: float, digits: int = 1) -> str:
    # Rounded first: `number_format` cuts digits off.
    text = number_format(f"{abs(value):.{digits}f}", digits)
    return MINUS + text if _is_below_zero(value, digits) else text


def signed_number(value: float, digits: int = 1) -> str:
    """Zero, and what is rounded to it, has no sign."""
    digits = shown_digits(value, digits, (-100, 100))
    is_zero = round(abs(value), digits) == 0
    return plain_number(value, digits) if is_zero or value < 0 else "+" + plain_number(value, digits)


def percentage(value: float, digits: int = 1) -> str:
    """100% or 0% only where it is that: 2,999 of 3,000 are 99.97%."""
    return _("%(number)s%%") % {"number": plain_number(value, shown_digits(value, digits))}


def coefficient(value: float, digits: int = 2, *, with_sign: bool = False) -> str:
    """1 or −1 only where it is that."""
    return (signed_number if with_sign else plain_number)(value, shown_digits(value, digits, CERTAIN))


def interval_text(interval: Interval | AbsentFigure, digits: int = 1, *, with_sign: bool = False) -> str:
    """Empty where there is no interval."""
    if isinstance(interval, AbsentFigure):
        return ""
    form = signed_number if with_sign else plain_number
    return _("%(low)s to %(high)s") % {"low": form(interval.low, digits), "high": form(interval.high, digits)}


def with_interval(value: str, interval: str) -> str:
    return f"{value} ({interval})" if interval else value


def p_value(p: float) -> str:
    return f"p < {plain_number(MIN_P, 4)}" if p < MIN_P else f"p = {plain_number(p, 4)}"


def reason_undefined(*figures: object) -> str:
    """Why the first of `figures` that is undefined is so; empty where none is."""
    return next((figure.message for figure in figures if isinstance(figure, AbsentFigure)), "")


def _is_below_zero(value: float, digits: int) -> bool:
    return value < 0 and round(abs(value), digits) > 0


def joined_html(form: str, rows: Iterable[Sequence[object]]) -> SafeString:
    """Fill in `form` for each row, as `format_html_join` does in four times as long; nothing may be safe."""
    return mark_safe("".join(form.format(*[escape(str(one)) for one in row]) for row in rows))  # noqa: S308 - escaped


def place_x(percent: float) -> str:
    """Always with a point: the language of the page has no say in an attribute."""
    return f"{percent:.2f}%"
