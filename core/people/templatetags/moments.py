"""Times in the user's time zone, which the browser sends (`device.js`), or in UTC if it is unknown."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

from django import template
from django.conf import settings
from django.http import HttpRequest
from django.template import Context
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from core.languages.rules.cldr import DAY, MOMENT, MOMENT_WITHOUT_YEAR, TIME, WITH_ZONE, date_text

register = template.Library()

COOKIE = "timezone"
MAX_ZONE_CHARACTERS = 64


@register.simple_tag(takes_context=True)
def moment(context: Context, at: datetime | None, skeleton: str = MOMENT) -> SafeString:
    """Show a time with its date and zone; nothing where there is none. `skeleton` is CLDR's."""
    return _element(at, in_words(at, _zone_of(context), skeleton)) if at else SafeString()


@register.simple_tag(takes_context=True)
def day(context: Context, at: datetime | None) -> SafeString:
    """Show the date of a time; nothing where there is none."""
    return _element(at, date_text(at, _language(), DAY, _zone_of(context).key)) if at else SafeString()


@register.filter(expects_localtime=True)
def date_in_words(at: date) -> str:
    """Return the date of a day or local time in the language of the page."""
    return _as_it_is(at, DAY)


@register.filter(expects_localtime=True)
def moment_in_words(at: datetime) -> str:
    """Return a local time with its date, without a zone, in the language of the page."""
    return _as_it_is(at, MOMENT)


@register.filter(expects_localtime=True)
def moment_without_year(at: datetime) -> str:
    """Return a local time beside one that has the year."""
    return _as_it_is(at, MOMENT_WITHOUT_YEAR)


@register.filter(expects_localtime=True)
def time_in_words(at: datetime) -> str:
    """Return the hour and minute of a local time in the language of the page."""
    return _as_it_is(at, TIME)


def _as_it_is(at: date, skeleton: str) -> str:
    return date_text(at.replace(tzinfo=None) if isinstance(at, datetime) else at, _language(), skeleton)


def in_words(at: datetime, zone: ZoneInfo, skeleton: str = MOMENT) -> str:
    """Return a time with its date and zone, such as “3 Mar 2026, 17:00 CET”."""
    return date_text(at, _language(), skeleton + WITH_ZONE, zone.key)


@register.simple_tag(takes_context=True)
def deadline(context: Context, at: datetime) -> SafeString:
    """Show a time to come: what is today or tomorrow in those words, with the date after it."""
    zone = _zone_of(context)
    days = (at.astimezone(zone).date() - timezone.now().astimezone(zone).date()).days
    values = {"time": in_words(at, zone, TIME), "date": date_text(at, _language(), DAY, zone.key)}
    if days == 0:
        return _element(at, _("today, %(time)s (%(date)s)") % values)
    if days == 1:
        return _element(at, _("tomorrow, %(time)s (%(date)s)") % values)
    return _element(at, in_words(at, zone))


def _language() -> str:
    return get_language() or ""


def _element(at: datetime, text: str) -> SafeString:
    return format_html('<time dir="auto" datetime="{}">{}</time>', at.isoformat(timespec="seconds"), text)


def _zone_of(context: Context) -> ZoneInfo:
    request: HttpRequest | None = context.get("request")
    name = request.COOKIES.get(COOKIE, "")[:MAX_ZONE_CHARACTERS] if request else ""
    try:
        return ZoneInfo(name) if name else _default_zone()
    except (KeyError, ValueError, OSError):
        # Not a zone that is known here.
        return _default_zone()


def _default_zone() -> ZoneInfo:
    return ZoneInfo(settings.TIME_ZONE)
