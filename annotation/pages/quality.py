"""The quality table as pages show it: shares in percent with their intervals, and why figures are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Rating
from annotation.selectors.quality import LanguageQuality, QualityRow, QualityTable, RaterOfCaptions, ShareOfCaptions
from charts import plots, texts
from crosslens_metrics.quality import LEVELS
from crosslens_metrics.undefined import Reason

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

WHY_NO_ALPHA: Mapping[str, StrPromise] = {
    Reason.NO_PAIR_OF_RATINGS: gettext_lazy(
        "No caption has two ratings on the scale, so agreement cannot be computed."
    ),
    Reason.ALL_RATINGS_EQUAL: gettext_lazy("All ratings are the same, so agreement is undefined."),
}
LEVEL_NAMES = {level.value: level.label for level in Rating}
FROM_THE_BEST = tuple(reversed(LEVELS))
KINDS = {"EXCELLENT": "better", "GOOD": "better", "BAD": "worse"}
"""Colours of bars."""


@dataclass(frozen=True)
class Cell:
    """A share in percent, and its interval; empty while nothing is verified."""

    value: str
    interval: str
    count: int


@dataclass(frozen=True)
class Line:
    """A round in the table."""

    row: QualityRow
    title: str
    progress: str
    cells: Sequence[Cell]
    alpha: str
    why_no_alpha: str

    @property
    def is_begun(self) -> bool:
        return self.row.verified > 0


@dataclass(frozen=True)
class Confusion:
    """One rater's confusion: their ratings against the overall levels, from the best level down."""

    name: str
    rater: RaterOfCaptions
    agreement: str
    rows: Sequence[tuple[StrPromise, Sequence[tuple[int, bool]]]]
    """A rating, and how often it came with each overall level, and whether they are the same."""


def lines_of(language: LanguageQuality) -> list[Line]:
    return [line_of(row) for row in language.rows]


def line_of(row: QualityRow) -> Line:
    return Line(
        row=row,
        title=row.round.title,
        progress=_("%(verified)d of %(sampled)d") % {"verified": row.verified, "sampled": row.sampled},
        cells=[_cell(share) for share in (row.good, row.medium, row.bad, row.not_enough_info)],
        alpha="" if row.alpha is None else texts.plain(row.alpha, 2),
        why_no_alpha=str(WHY_NO_ALPHA.get(row.alpha_undefined, "")),
    )


def or_better(level: Rating) -> str:
    return _("%(level)s or better") % {"level": level.label}


def levels() -> list[str]:
    """The heads of the columns of shares."""
    return [or_better(Rating.GOOD), or_better(Rating.MEDIUM), str(Rating.BAD.label), str(Rating.NOT_ENOUGH_INFO.label)]


def table_of(table: QualityTable) -> list[tuple[LanguageQuality, list[Line]]]:
    return [(language, lines_of(language)) for language in table.languages]


def levels_plot(row: QualityRow) -> plots.BarPlot:
    bars = [(str(LEVEL_NAMES[level]), row.levels[level], KINDS.get(level, "similar")) for level in FROM_THE_BEST]
    return plots.bar_plot(_("Captions by the median of their ratings"), bars)


def confusions_of(row: QualityRow, *, name_of: Callable[[int], str]) -> list[Confusion]:
    confusions = [_confusion(rater, name_of(rater.person_id)) for rater in row.raters]
    return sorted(confusions, key=lambda one: one.name)


def level_names() -> list[StrPromise]:
    return [LEVEL_NAMES[level] for level in FROM_THE_BEST]


def _confusion(rater: RaterOfCaptions, name: str) -> Confusion:
    places = [LEVELS.index(level) for level in FROM_THE_BEST]
    return Confusion(
        name=name,
        rater=rater,
        agreement=texts.percent(100 * rater.agreement),
        rows=[
            (LEVEL_NAMES[LEVELS[said]], [(rater.confusion[said][came_to], said == came_to) for came_to in places])
            for said in places
        ],
    )


def _cell(share: ShareOfCaptions) -> Cell:
    if share.value is None or share.interval is None:
        return Cell("", "", 0)
    interval = type(share.interval)(100 * share.interval.low, 100 * share.interval.high)
    return Cell(texts.percent(100 * share.value), texts.between(interval), share.count)
