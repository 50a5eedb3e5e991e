"""How long work takes: the pace of what was done, and estimates of what is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, hypot, sqrt

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy

from annotation.rules.campaign import REVIEWERS_PER_CAPTION, VERIFIED_CAPTIONS
from core.allocation.rules.outlooks import MIN_PEOPLE
from core.people.rules.pay import MS_PER_HOUR, cost_of

ASSUMED_CAPTION_S, ASSUMED_RATING_S = 60.0, 10.0
"""(ours) Active seconds to rate an English caption and write one's own, and to rate a caption in verification."""
MIN_TIMED = 100
"""(ours) The fewest answers whose mean predicts the pace."""


class EstimateBasis(TextChoices):
    LANGUAGE = "language", gettext_lazy("measured in this language")
    ALL = "all", gettext_lazy("measured in all languages")
    ASSUMED = "assumed", gettext_lazy("assumed")


@dataclass(frozen=True)
class TimedAnswers:
    """Answers of several people and the active time that they took together.

    `error_ms` is the standard error of the mean time of an answer over people, whose times differ.
    """

    answers: int = 0
    people: int = 0
    active_ms: int = 0
    error_ms: float = field(default=0.0, compare=False)

    @classmethod
    def of_people(cls, times: Sequence[tuple[int, int]]) -> TimedAnswers:
        """Add up the answers and active milliseconds of each person."""
        answers, active_ms, people = sum(one[0] for one in times), sum(one[1] for one in times), len(times)
        if people < 2:
            return cls(answers, people, active_ms)
        off = sum((spent - active_ms / answers * given) ** 2 for given, spent in times)
        return cls(answers, people, active_ms, sqrt(off * people / (people - 1)) / answers)

    @property
    def is_enough(self) -> bool:
        return self.answers >= MIN_TIMED and self.people >= MIN_PEOPLE


@dataclass(frozen=True)
class SecondsPerAnswer:
    """Mean active seconds per answer, and what they are based on.

    `within` is how far the mean may be off: 95% by Student's t over people; None if it is assumed.
    """

    seconds: float
    basis: EstimateBasis
    within: float | None = None


def seconds_per_answer(in_language: TimedAnswers, in_all: TimedAnswers, *, assumed: float) -> SecondsPerAnswer:
    """Use what was measured in the language, else in all languages, else what is assumed."""
    for timed, basis in ((in_language, EstimateBasis.LANGUAGE), (in_all, EstimateBasis.ALL)):
        if timed.is_enough:
            return SecondsPerAnswer(timed.active_ms / timed.answers / 1000, basis, _within(timed))
    return SecondsPerAnswer(assumed, EstimateBasis.ASSUMED)


def _within(timed: TimedAnswers) -> float:
    # Pages of work import this module, and workers start without NumPy and SciPy.
    from crosslens_metrics.sampling.intervals import student_quantile

    return float(student_quantile(timed.people - 1)) * timed.error_ms / 1000


@dataclass(frozen=True, kw_only=True)
class LanguagePlan:
    """The settings of one language; `pilot_images` is 0 without a pilot.

    `people` work `hours_a_day` each. Without a `rate` per hour there is no cost.
    """

    images: int
    replication: int
    batch_size: int
    pilot_images: int
    people: int
    hours_a_day: Decimal
    rate: Decimal | None = None


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """`within_ms` is how far the active time may be off, as the pace is; None where it is assumed."""

    images: int = 0
    captions: int = 0
    ratings: int = 0
    batches: int = 0
    active_ms: int = 0
    within_ms: float | None = None
    cost: Decimal | None = None
    days: int = 0

    @property
    def hours(self) -> float:
        return self.active_ms / MS_PER_HOUR

    @property
    def hours_within(self) -> float | None:
        return None if self.within_ms is None else self.within_ms / MS_PER_HOUR


def estimate(
    plan: LanguagePlan,
    *,
    caption_s: float,
    rating_s: float,
    caption_within: float | None = None,
    rating_within: float | None = None,
) -> Estimate:
    """Estimate a language with its pilot, the rating of that, the main round and its verification.

    A pilot's captions are all rated; of the main round, one caption of each image in a sample. Seconds are means, since
    these add up to hours.
    """
    pilot = min(plan.pilot_images, plan.images) * plan.replication
    main = plan.images * plan.replication
    rated = [pilot * REVIEWERS_PER_CAPTION, min(VERIFIED_CAPTIONS, plan.images) * REVIEWERS_PER_CAPTION]
    captions, ratings = pilot + main, sum(rated)
    active_ms = round(1000 * (captions * caption_s + ratings * rating_s))
    return Estimate(
        images=plan.images,
        captions=captions,
        ratings=ratings,
        batches=sum(ceil(answers / plan.batch_size) for answers in (pilot, main, *rated)),
        active_ms=active_ms,
        within_ms=None
        if caption_within is None or rating_within is None
        else 1000 * hypot(captions * caption_within, ratings * rating_within),
        cost=None if plan.rate is None else cost_of(active_ms=active_ms, rate=plan.rate),
        days=ceil(Decimal(active_ms) / MS_PER_HOUR / (plan.people * plan.hours_a_day)),
    )


def total_estimate(estimates: Iterable[Estimate]) -> Estimate:
    """Add up languages that are worked on at the same time, over the same images.

    The pace of all languages may be off to the same side, so what it may be off is added too.
    """
    each = list(estimates)
    costs = [one.cost for one in each if one.cost is not None]
    within = [one.within_ms for one in each if one.within_ms is not None]
    return Estimate(
        images=max((one.images for one in each), default=0),
        captions=sum(one.captions for one in each),
        ratings=sum(one.ratings for one in each),
        batches=sum(one.batches for one in each),
        active_ms=sum(one.active_ms for one in each),
        within_ms=sum(within) if each and len(within) == len(each) else None,
        cost=sum(costs, Decimal(0)) if costs else None,
        days=max((one.days for one in each), default=0),
    )


WINDOW_DAYS = 7
MAX_DAYS_AHEAD = 3650
"""Estimates further away than this are not given a date."""


@dataclass(frozen=True)
class WorkPace:
    """Pace over the last `days`, including today: fewer than the window if work began later."""

    done: int
    days: int

    @property
    def per_day(self) -> float:
        return self.done / self.days

    def ends_on(self, left: int, *, today: date) -> date | None:
        """Return the day when the last of `left` would be done; None if nothing is left or it is too far off."""
        if left <= 0 or not self.done:
            return None
        days = ceil(Fraction(left * self.days, self.done))
        return today + timedelta(days=days) if days <= MAX_DAYS_AHEAD else None


@lru_cache(maxsize=8)
def window(today: date) -> tuple[str, ...]:
    """Return the days that count, from today back."""
    return tuple((today - timedelta(days=ago)).isoformat() for ago in range(WINDOW_DAYS))


def pace(days: Mapping[str, int], *, total: int, today: date) -> WorkPace:
    """Compute the pace; `days` has how much was done by day, such as {“2026-11-21”: 15}, at least in the window.

    `total` is all that was ever done: if it is more than that, work began before the window.
    """
    counts = [days.get(day, 0) for day in window(today)]
    if total > sum(counts):
        return WorkPace(sum(counts), WINDOW_DAYS)
    return WorkPace(total, max((ago for ago, count in enumerate(counts, 1) if count), default=1))
