"""Format counts, times and rates."""

from __future__ import annotations

from datetime import timedelta

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts import texts

register = template.Library()

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400


@register.filter
def grouped(number: int) -> str:
    """Format a count with the page language's thousands separators."""
    return number_format(number, 0, force_grouping=True)


@register.filter
def rounded(number: float | None, digits: int) -> str:
    """Format a number; empty if it is not known."""
    return "" if number is None else texts.plain_number(number, digits)


@register.filter
def rate(per_second: float | None) -> str:
    """Format a rate; empty if it is not known."""
    if per_second is None:
        return ""
    if per_second >= 1:
        return _("%(number)s a second") % {"number": texts.plain_number(per_second, 0 if per_second >= 100 else 1)}
    if per_second * MINUTE_S >= 1:
        return _("%(number)s a minute") % {"number": texts.plain_number(per_second * MINUTE_S)}
    return _("%(number)s an hour") % {"number": texts.plain_number(per_second * HOUR_S)}


@register.filter
def duration(time: timedelta | None) -> str:
    """Format a duration in its two largest units; empty if it is not known."""
    if time is None:
        return ""
    seconds = max(0, round(time.total_seconds()))
    if seconds < MINUTE_S:
        return ngettext("%(number)d second", "%(number)d seconds", seconds) % {"number": seconds}
    if seconds < HOUR_S:
        return _minutes(seconds // MINUTE_S)
    if seconds < DAY_S:
        return _joined(_hours(seconds // HOUR_S), _minutes(seconds % HOUR_S // MINUTE_S), seconds % HOUR_S >= MINUTE_S)
    days = seconds // DAY_S
    text = ngettext("%(number)d day", "%(number)d days", days) % {"number": days}
    return _joined(text, _hours(seconds % DAY_S // HOUR_S), seconds % DAY_S >= HOUR_S)


def _hours(number: int) -> str:
    return ngettext("%(number)d hour", "%(number)d hours", number) % {"number": number}


def _minutes(number: int) -> str:
    return ngettext("%(number)d minute", "%(number)d minutes", number) % {"number": number}


def _joined(large: str, small: str, has_small: bool) -> str:
    return f"{large} {small}" if has_small else large
