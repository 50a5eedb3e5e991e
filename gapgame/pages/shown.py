"""Figures as pages show them: rounded, in the way of the reader's language."""

from __future__ import annotations

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from metrics.intervals import Interval

SIMILARITY_DIGITS = 3


def plain(value: float, digits: int = 1) -> str:
    # Rounded first: `number_format` cuts digits off.
    return number_format(f"{value:.{digits}f}", digits)


def percent(value: float) -> str:
    return _("%(number)s%%") % {"number": plain(value)}


def similarity(value: float) -> str:
    return plain(value, SIMILARITY_DIGITS)


def between(interval: object, digits: int = 1) -> str:
    """Empty where there is no interval."""
    if not isinstance(interval, Interval):
        return ""
    return _("%(low)s to %(high)s") % {"low": plain(interval.low, digits), "high": plain(interval.high, digits)}
