"""Times in the user's time zone, which the browser sends (`device.js`), or in UTC if it is unknown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from django import template
from django.http import HttpRequest
from django.template import Context
from django.utils import timezone
from django.utils.dateformat import format as formatted
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from core.languages.rules.page_languages import LOWER_CASE, date_form, moment_form

register = template.Library()

COOKIE = "timezone"
MAX_ZONE_CHARACTERS = 64


@register.simple_tag(takes_context=True)
def moment(context: Context, at: datetime | None, form: str = "") -> SafeString:
    """Show a time with its date; nothing where there is none. `form` is for a table of managers."""
    return _element(at, in_words(at, _zone_of(context), form)) if at else SafeString()


@register.simple_tag(takes_context=True)
def day(context: Context, at: datetime | None) -> SafeString:
    """Show the date of a time; nothing where there is none."""
    return _element(at, date_in_words(at.astimezone(_zone_of(context)))) if at else SafeString()


@register.filter(expects_localtime=True)
def date_in_words(at: date) -> str:
    """Return the date of a day or local time in the language of the page."""
    return _written(at, date_form)


@register.filter(expects_localtime=True)
def moment_in_words(at: datetime) -> str:
    """Return a local time with its date, without a zone, in the language of the page."""
    return _written(at, moment_form)


@register.filter(expects_localtime=True)
def moment_without_year(at: datetime) -> str:
    """Return a local time beside one that has the year."""
    return _written(at, partial(moment_form, has_year=False))


def _written(at: date, form_of: Callable[[str], str]) -> str:
    language = get_language() or ""
    text = formatted(at, form_of(language))
    return text.lower() if language in LOWER_CASE else text


def in_words(at: datetime, zone: Any, form: str = "") -> str:
    """Return a time with its date and zone, such as “3 March 2026, 17:00 CET”."""
    local = at.astimezone(zone)
    return f"{formatted(local, form) if form else moment_in_words(local)} {_name_of(local)}"


@register.simple_tag(takes_context=True)
def deadline(context: Context, at: datetime) -> SafeString:
    """Show a time to come: what is today or tomorrow in those words, with the date after it."""
    local = at.astimezone(_zone_of(context))
    days = (local.date() - timezone.now().astimezone(local.tzinfo).date()).days
    values = {"time": f"{local:%H:%M} {_name_of(local)}", "date": date_in_words(local)}
    if days == 0:
        return _element(at, _("today, %(time)s (%(date)s)") % values)
    if days == 1:
        return _element(at, _("tomorrow, %(time)s (%(date)s)") % values)
    return _element(at, in_words(at, local.tzinfo))


def _element(at: datetime, text: str) -> SafeString:
    return format_html('<time dir="auto" datetime="{}">{}</time>', at.isoformat(timespec="seconds"), text)


def _zone_of(context: Context) -> Any:
    request: HttpRequest | None = context.get("request")
    name = request.COOKIES.get(COOKIE, "")[:MAX_ZONE_CHARACTERS] if request else ""
    try:
        return ZoneInfo(name) if name else timezone.get_default_timezone()
    except (KeyError, ValueError, OSError):
        # Not a zone that is known here.
        return timezone.get_default_timezone()


def _name_of(local: datetime) -> str:
    """Name the zone shortly: CET, or UTC+5:30 where it has no letters of its own."""
    name = local.tzname() or ""
    if name.isalpha():
        return name
    minutes = (local.utcoffset() or timedelta()) // timedelta(minutes=1)
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'-' if minutes < 0 else '+'}{hours}{f':{rest:02}' if rest else ''}"
