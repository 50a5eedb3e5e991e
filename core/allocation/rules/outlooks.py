"""What a person learns before a batch is taken, and after it: how long it takes others, its deadline, time and pay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from statistics import median

from core.people.rules.pay import PromisedPay, cost_of

MIN_PEOPLE = 3
"""(ours) Of how many people at least a shown pace is, so that it is nobody's own."""


@dataclass(frozen=True)
class TimedWork:
    """Answers of one person that count, and the active time that they took."""

    answers: int = 0
    active_ms: int = 0

    def __add__(self, other: TimedWork) -> TimedWork:
        return TimedWork(self.answers + other.answers, self.active_ms + other.active_ms)


@dataclass(frozen=True)
class MeasuredPace:
    """The median time for an answer over other people: those of the language, or of all languages of the project."""

    ms: float
    in_all_languages: bool = False


@dataclass(frozen=True, kw_only=True)
class BatchOutlook:
    """A batch that can be taken, and what its taker did so far in the language.

    `pace` is None where it would be that of too few people.
    """

    size: int
    deadline: datetime
    pace: MeasuredPace | None
    pay: PromisedPay | None
    own: TimedWork

    @property
    def minutes(self) -> int | None:
        return None if self.pace is None else _minutes(self.pace.ms * self.size)

    @property
    def amount(self) -> Decimal | None:
        """What the time of a batch is worth; None without a rate or a measured time."""
        return None if self.pace is None else self._worth(round(self.pace.ms * self.size))

    @property
    def own_minutes(self) -> int:
        return _minutes(self.own.active_ms)

    @property
    def own_amount(self) -> Decimal | None:
        return self._worth(self.own.active_ms)

    def _worth(self, active_ms: int) -> Decimal | None:
        rate = self.pay.rate if self.pay else None
        return None if rate is None else cost_of(active_ms=active_ms, rate=rate)


def pace_of_others(
    times: Mapping[int, TimedWork], person: int | None, *, in_all_languages: bool = False
) -> MeasuredPace | None:
    """Return the median of people's active milliseconds for an answer, without `person`.

    A visitor, None, may be any of them, signed out: then there has to be one more.
    """
    paces = [one.active_ms / one.answers for other, one in times.items() if other != person and one.active_ms]
    needed = MIN_PEOPLE + 1 if person is None else MIN_PEOPLE
    return MeasuredPace(median(paces), in_all_languages) if len(paces) >= needed else None


def _minutes(active_ms: float) -> int:
    return max(1, round(active_ms / 60_000))
