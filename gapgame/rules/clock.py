"""From a local time to its instant, in any time zone of the IANA's list."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.utils.translation import gettext as _

MIN_YEAR, MAX_YEAR = 2000, 2200
"""(ours) A year outside is a typing error."""

NOT_PLACES = {"Factory", "localtime"}
SHOWN = "%Y-%m-%d %H:%M"


class ClockError(ValueError):
    """A local time has no single instant; the message says why."""


class NonexistentTimeError(ClockError):
    """The time does not exist: clocks are set forward over it."""


class AmbiguousTimeError(ClockError):
    """The time occurs twice, as clocks are set back; `first` and `second` are the two instants in UTC."""

    def __init__(self, message: str, first: datetime, second: datetime) -> None:
        super().__init__(message)
        self.first, self.second = first, second


@cache
def time_zones() -> tuple[str, ...]:
    """Return the names of all time zones, in alphabetical order."""
    return tuple(sorted(name for name in available_timezones() if name not in NOT_PLACES))


def instant_of(local: datetime, time_zone: str, *, is_second: bool | None = None) -> datetime:
    """Return the instant, in UTC, at which clocks in `time_zone` show `local`; `is_second` chooses among two.

    Raises NonexistentTimeError or AmbiguousTimeError. Raises ClockError: the year is out of all reason.
    """
    if not MIN_YEAR <= local.year <= MAX_YEAR:
        years = {"earliest": MIN_YEAR, "latest": MAX_YEAR}
        raise ClockError(_("Enter a year from %(earliest)d to %(latest)d.") % years)
    zone = ZoneInfo(time_zone)
    first, second = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    said = {"time": local.strftime(SHOWN), "zone": time_zone}
    if first.astimezone(zone).replace(tzinfo=None, fold=0) != local:
        before, after = sorted((first, second))
        about = {**said, "before": _shown_at(before, zone), "after": _shown_at(after, zone)}
        text = _(
            "%(time)s does not exist in %(zone)s, because the clocks go forward. Choose a time before or "
            "after, such as %(before)s or %(after)s."
        )
        raise NonexistentTimeError(text % about)
    if first == second:
        return first
    if is_second is None:
        about = {**said, "first": first.strftime(SHOWN), "second": second.strftime(SHOWN)}
        text = _(
            "%(time)s occurs twice in %(zone)s, because the clocks go back: at %(first)s UTC and at %(second)s "
            "UTC. Choose one of them below."
        )
        raise AmbiguousTimeError(text % about, first, second)
    return second if is_second else first


def local_time(instant: datetime, time_zone: str) -> datetime:
    """Return the local time in `time_zone` at `instant`, without a zone, as in a form."""
    return instant.astimezone(ZoneInfo(time_zone)).replace(tzinfo=None, fold=0)


def is_second_of_two(instant: datetime, time_zone: str) -> bool:
    """Return whether clocks in `time_zone` show the time of `instant` for the second time."""
    return bool(instant.astimezone(ZoneInfo(time_zone)).fold)


def _shown_at(instant: datetime, zone: ZoneInfo) -> str:
    return instant.astimezone(zone).strftime(SHOWN)
