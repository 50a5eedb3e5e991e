"""From what a clock on the wall shows to the instant that is meant, in any zone of the IANA's list."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.utils.translation import gettext as _

EARLIEST_YEAR, LATEST_YEAR = 2000, 2200
"""(ours) A year outside is a slip of the finger."""

NOT_PLACES = {"Factory", "localtime"}
SHOWN = "%Y-%m-%d %H:%M"


class ClockError(ValueError):
    """Why no instant is meant, as a sentence."""


class NonexistentTimeError(ClockError):
    """Clocks are set forward over it."""


class AmbiguousTimeError(ClockError):
    """Clocks are set back over it; `first` and `second` are the two instants in UTC."""

    def __init__(self, message: str, first: datetime, second: datetime) -> None:
        super().__init__(message)
        self.first, self.second = first, second


@cache
def time_zones() -> tuple[str, ...]:
    """Names of all zones, in the order of the alphabet."""
    return tuple(sorted(name for name in available_timezones() if name not in NOT_PLACES))


def instant_of(local: datetime, time_zone: str, *, is_second: bool | None = None) -> datetime:
    """The instant, in UTC, at which clocks in `time_zone` show `local`; `is_second` says which where there are two.

    Raises
    ------
    NonexistentTimeError, AmbiguousTimeError
    ClockError
        The year is out of all reason.
    """
    if not EARLIEST_YEAR <= local.year <= LATEST_YEAR:
        years = {"earliest": EARLIEST_YEAR, "latest": LATEST_YEAR}
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
    """What clocks in `time_zone` show at `instant`, without a zone, as a form has it."""
    return instant.astimezone(ZoneInfo(time_zone)).replace(tzinfo=None, fold=0)


def is_second_of_two(instant: datetime, time_zone: str) -> bool:
    """Whether clocks in `time_zone` show the time of `instant` for the second time."""
    return bool(instant.astimezone(ZoneInfo(time_zone)).fold)


def _shown_at(instant: datetime, zone: ZoneInfo) -> str:
    return instant.astimezone(zone).strftime(SHOWN)
