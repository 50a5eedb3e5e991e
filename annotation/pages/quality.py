"""The quality table as pages show it: shares in percent with their intervals, and why figures are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Rating
from annotation.selectors.quality import CaptionReviewer, LanguageQuality, QualityRow, QualityTable, ShareOfCaptions
from charts import plots, texts
from core.people.models import Project
from core.people.pages.addresses import address
from crosslens_metrics.quality import LEVELS
from crosslens_metrics.undefined import UndefinedReason
from research.selection.pages.image_filters import AskedImages
from tabular.tables import NO_VALUE, TEXT, PageTable, TableColumn, figure, for_readers, link, note, parts

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

WHY_NO_ALPHA: Mapping[str, StrPromise] = {
    UndefinedReason.NO_PAIR_OF_RATINGS: gettext_lazy(
        "No caption has two ratings on the scale, so agreement cannot be computed."
    ),
    UndefinedReason.ALL_RATINGS_EQUAL: gettext_lazy("All ratings are the same, so agreement is undefined."),
}
LEVEL_NAMES = {level.value: level.label for level in Rating}
FROM_THE_BEST = tuple(reversed(LEVELS))
KINDS = {"EXCELLENT": "better", "GOOD": "better", "BAD": "worse"}
"""Colours of bars."""


RoundOfLanguage = tuple[LanguageQuality, QualityRow | None]
"""None for a language of which the verification has not started."""


@dataclass(frozen=True)
class ReviewerConfusion:
    """One rater's confusion: their ratings against the overall levels, from the best level down."""

    name: str
    reviewer: CaptionReviewer
    agreement: str
    rows: Sequence[tuple[StrPromise, Sequence[tuple[int, bool]]]]
    """A rating, and how often it came with each overall level, and whether they are the same."""


def table_of(table: QualityTable, project: Project, images: AskedImages) -> PageTable[RoundOfLanguage]:
    """A row for the verification of each language, begun or not, and for each of its pilots."""
    shares = zip(levels(), map(attrgetter, ("good", "medium", "bad", "not_enough_info")), strict=True)
    counted = TableColumn[RoundOfLanguage]("images", _("Images"), lambda one: one[1].images if one[1] else None)
    columns: list[TableColumn[RoundOfLanguage]] = [
        TableColumn("language", _("Language"), _name, kind=TEXT),
        *([] if images.is_all else [counted]),
        TableColumn("verified", _("Verified"), lambda one: _verified(one[1])),
        *(TableColumn(label, label, partial(_share, share)) for label, share in shares),
        TableColumn("agreement", _("Agreement"), lambda one: _agreement(one[1]) if one[1] else None),
        TableColumn("details", for_readers(_("Details")), lambda one: _details(one, project, images), kind=TEXT),
    ]
    rows = [(language, row) for language in table.languages for row in (language.verification, *language.pilots)]
    return PageTable("quality-caption", _("Quality of captions by language"), columns, rows, _("No language yet."))


def alpha_of(row: QualityRow) -> str:
    return "" if row.alpha is None else texts.plain_number(row.alpha, 2)


def or_better(level: Rating) -> str:
    return _("%(level)s or better") % {"level": level.label}


def levels() -> list[str]:
    """The heads of the columns of shares."""
    return [or_better(Rating.GOOD), or_better(Rating.MEDIUM), str(Rating.BAD.label), str(Rating.NOT_ENOUGH_INFO.label)]


def why_no_alpha(row: QualityRow) -> str:
    return str(WHY_NO_ALPHA.get(row.alpha_undefined, ""))


def _name(one: RoundOfLanguage) -> str:
    language, row = one
    return language.language.name if row is None or row is language.verification else note(row.round.title)


def _verified(row: QualityRow | None) -> str:
    if row is None:
        return note(_("Verification has not started."))
    return figure(_("%(verified)d of %(sampled)d") % {"verified": row.verified, "sampled": row.sampled})


def _share(share_of: Callable[[QualityRow], ShareOfCaptions], one: RoundOfLanguage) -> str | None:
    """A share in percent, and its interval; nothing while nothing is verified."""
    share = share_of(one[1]) if one[1] else None
    if share is None or share.value is None or share.interval is None:
        return None
    interval = type(share.interval)(100 * share.interval.low, 100 * share.interval.high)
    return parts(texts.percentage(100 * share.value), note(figure(texts.interval_text(interval))))


def _agreement(row: QualityRow) -> str:
    alpha = alpha_of(row)
    if alpha:
        return format_html('<bdi dir="ltr">{}</bdi>', alpha)
    return format_html('<abbr title="{}">{}</abbr>', why_no_alpha(row), NO_VALUE)


def _details(one: RoundOfLanguage, project: Project, images: AskedImages) -> str | None:
    language, row = one
    if row is None:
        return None
    about = for_readers(f": {language.language.name}, {row.round.title}")
    url = address("annotation:quality-round", project.slug, row.round.pk) + images.query
    return link(url, format_html("{}{}", _("Details"), about))


def levels_plot(row: QualityRow) -> plots.BarPlot:
    bars = [(str(LEVEL_NAMES[level]), row.levels[level], KINDS.get(level, "similar")) for level in FROM_THE_BEST]
    return plots.bar_plot(_("Captions by the median of their ratings"), bars)


def confusions_of(row: QualityRow, *, name_of: Callable[[int], str]) -> list[ReviewerConfusion]:
    confusions = [_confusion(reviewer, name_of(reviewer.person_id)) for reviewer in row.reviewers]
    return sorted(confusions, key=lambda one: one.name)


def level_names() -> list[StrPromise]:
    return [LEVEL_NAMES[level] for level in FROM_THE_BEST]


def _confusion(reviewer: CaptionReviewer, name: str) -> ReviewerConfusion:
    places = [LEVELS.index(level) for level in FROM_THE_BEST]
    return ReviewerConfusion(
        name=name,
        reviewer=reviewer,
        agreement=texts.percentage(100 * reviewer.agreement),
        rows=[
            (LEVEL_NAMES[LEVELS[said]], [(reviewer.confusion[said][came_to], said == came_to) for came_to in places])
            for said in places
        ],
    )
