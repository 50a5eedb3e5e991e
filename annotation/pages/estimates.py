"""The table of what the languages of a form will take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from django.utils.translation import gettext as _

from annotation.rules.estimates import (
    MAX_DAYS_AHEAD,
    Estimate,
    EstimateBasis,
    LanguagePlan,
    SecondsPerAnswer,
    estimate,
    total_estimate,
)
from annotation.selectors.estimates import MeasuredTimes
from annotation.services.projects import NewRound
from charts import texts
from core.languages.models import Language
from tabular.tables import TEXT, PageTable, TableColumn, note, parts


@dataclass(frozen=True)
class EstimateLine:
    """One language, or all of them without a `language`. Dates that are too far off are left out."""

    language: Language | None
    estimate: Estimate
    caption: SecondsPerAnswer | None
    rating: SecondsPerAnswer | None
    ends_on: date | None

    @property
    def hours(self) -> str:
        hours, within = texts.plain_number(self.estimate.hours), self.estimate.hours_within
        return hours if within is None else f"{hours} ± {texts.plain_number(within)}"


def estimate_lines(
    plan: LanguagePlan, languages: Sequence[NewRound], measured: MeasuredTimes, *, today: date
) -> list[EstimateLine]:
    """Estimate every language with its own replication."""
    lines = []
    for new in languages:
        caption, rating = measured.caption(new.language.pk), measured.rating(new.language.pk)
        of_language = estimate(
            replace(plan, replication=new.replication),
            caption_s=caption.seconds,
            rating_s=rating.seconds,
            caption_within=caption.within,
            rating_within=rating.within,
        )
        lines.append(EstimateLine(new.language, of_language, caption, rating, _ends_on(of_language, today)))
    return lines


def estimate_total(lines: Sequence[EstimateLine], *, today: date) -> EstimateLine:
    everything = total_estimate(line.estimate for line in lines)
    return EstimateLine(None, everything, None, None, _ends_on(everything, today))


def estimate_page(
    plan: LanguagePlan,
    languages: Sequence[NewRound],
    measured: MeasuredTimes,
    *,
    currency: str,
    left_out: int,
    today: date,
) -> dict[str, Any]:
    """Return what the page shows; `left_out` images have no English caption.

    In the languages of `too_few`, the people of the plan are fewer than those who describe each image.
    """
    lines = estimate_lines(plan, languages, measured, today=today)
    return {
        "lines": PageTable("estimate-head", "", _columns(currency, has_cost=plan.rate is not None), lines),
        "total": estimate_total(lines, today=today),
        "left_out": left_out,
        "is_assumed": any(
            pace.basis == EstimateBasis.ASSUMED for one in lines for pace in (one.caption, one.rating) if pace
        ),
        "too_few": [new.language for new in languages if new.replication > plan.people],
    }


def _columns(currency: str, *, has_cost: bool) -> list[TableColumn[EstimateLine]]:
    cost = TableColumn[EstimateLine]("cost", f"{_('Cost')} ({currency})", lambda line: line.estimate.cost)
    return [
        TableColumn("language", _("Language"), lambda line: line.language and line.language.name, kind=TEXT),
        TableColumn("captions", _("Captions"), lambda line: line.estimate.captions),
        TableColumn("ratings", _("Ratings of captions"), lambda line: line.estimate.ratings),
        TableColumn("batches", _("Batches"), lambda line: line.estimate.batches),
        TableColumn("caption", _("Seconds per caption"), lambda line: _seconds(line.caption), kind=TEXT),
        TableColumn("rating", _("Seconds per rating"), lambda line: _seconds(line.rating), kind=TEXT),
        TableColumn("hours", _("Hours"), lambda line: line.hours),
        *([cost] if has_cost else []),
        TableColumn("finished", _("Finished"), lambda line: line.ends_on, kind=TEXT),
    ]


def _seconds(time: SecondsPerAnswer | None) -> str | None:
    return None if time is None else parts(texts.plain_number(time.seconds, 0), note(time.basis.label))


def _ends_on(one: Estimate, today: date) -> date | None:
    return today + timedelta(days=one.days) if 0 < one.days <= MAX_DAYS_AHEAD else None
