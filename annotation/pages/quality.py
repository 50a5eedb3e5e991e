"""The quality table as pages show it: shares in percent with their intervals, and why figures are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Rating
from annotation.selectors.quality import (
    ALPHA_INTERVAL,
    JUDGED_SHARES,
    OVER_AUTHORS,
    SHARES,
    QualityRow,
    QualityTable,
    ShareOfCaptions,
)
from charts import plots, texts
from core.languages.models import Language
from core.people.models import Project
from core.people.pages import address
from crosslens_metrics.quality import LEVELS
from crosslens_metrics.sampling.intervals import Interval
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
WHY_NOT_OVER_AUTHORS: Mapping[str, StrPromise] = {
    UndefinedReason.NO_AUTHORS: gettext_lazy("Some captions have no known author."),
    UndefinedReason.ONE_AUTHOR: gettext_lazy("All captions are by one author, so they do not show how authors differ."),
    UndefinedReason.NO_VARIATION: gettext_lazy(
        "All authors have the same share, so they do not show how authors differ."
    ),
}
LEVEL_NAMES = {level.value: level.label for level in Rating}
FROM_THE_BEST = tuple(reversed(LEVELS))
KINDS = {"EXCELLENT": "better", "GOOD": "better", "BAD": "worse"}
"""Colours of bars."""


RoundOfLanguage = tuple[Language, QualityRow | None]
"""None for a language of which the verification has not started."""


def table_of(table: QualityTable, project: Project, images: AskedImages) -> PageTable[RoundOfLanguage]:
    """A row for the verification of each language, begun or not, and for each of its pilots."""
    counted = TableColumn[RoundOfLanguage]("images", _("Images"), lambda one: one[1].images if one[1] else None)
    columns: list[TableColumn[RoundOfLanguage]] = [
        TableColumn("language", _("Language"), _name, kind=TEXT),
        *([] if images.is_all else [counted]),
        TableColumn("verified", _("Verified"), lambda one: _verified(one[1])),
        *(TableColumn(name, label, partial(_share, name)) for name, label in zip(SHARES, levels(), strict=True)),
        TableColumn("agreement", _("Agreement"), lambda one: _agreement(one[1]) if one[1] else None),
        TableColumn("details", for_readers(_("Details")), lambda one: _details(one, project, images), kind=TEXT),
    ]
    title = _("Quality of captions by language")
    return PageTable("quality-caption", title, columns, table.languages, _("No language yet."))


def alpha_of(row: QualityRow) -> str:
    """Alpha with its interval."""
    if row.alpha is None:
        return ""
    interval = texts.interval_text(row.alpha_interval, 2) if row.alpha_interval else ""
    return texts.with_interval(texts.coefficient(row.alpha, 2), interval)


def or_better(level: Rating) -> str:
    return _("%(level)s or better") % {"level": level.label}


def levels() -> list[str]:
    """The heads of the columns of shares."""
    return [or_better(Rating.GOOD), or_better(Rating.MEDIUM), str(Rating.BAD.label), str(Rating.NOT_ENOUGH_INFO.label)]


def why_no_alpha(row: QualityRow) -> str:
    return str(WHY_NO_ALPHA.get(row.alpha_undefined, ""))


def _name(one: RoundOfLanguage) -> str:
    language, row = one
    return note(row.round.title) if row and row.is_of_pilot else language.name


def _verified(row: QualityRow | None) -> str:
    if row is None:
        return note(_("Verification has not started."))
    return figure(_("%(verified)d of %(sampled)d") % {"verified": row.verified, "sampled": row.sampled})


def _share(name: str, one: RoundOfLanguage) -> str | None:
    """A share in percent, and its intervals; nothing while nothing is verified."""
    share = one[1].share(name) if one[1] else None
    if share is None or share.value is None or share.interval is None:
        return None
    return parts(
        texts.percentage(100 * share.value),
        note(figure(_percentages(share.interval))),
        note(_over_authors(share.over_authors)),
    )


def _over_authors(interval: Interval | UndefinedReason | None) -> str:
    if interval is None:
        return ""
    if isinstance(interval, UndefinedReason):
        none = _("authors: %(interval)s") % {"interval": NO_VALUE}
        return format_html('<abbr title="{}">{}</abbr>', WHY_NOT_OVER_AUTHORS[interval], none)
    return figure(_("authors: %(interval)s") % {"interval": _percentages(interval)})


def _percentages(interval: Interval) -> str:
    return texts.interval_text(interval.times(100))


def _agreement(row: QualityRow) -> str:
    if row.alpha is not None:
        interval = texts.interval_text(row.alpha_interval, 2) if row.alpha_interval else ""
        return parts(figure(texts.coefficient(row.alpha, 2)), note(figure(interval)))
    return format_html('<abbr title="{}">{}</abbr>', why_no_alpha(row), NO_VALUE)


def _details(one: RoundOfLanguage, project: Project, images: AskedImages) -> str | None:
    language, row = one
    if row is None:
        return None
    about = for_readers(f": {language.name}, {row.round.title}")
    url = address("annotation:quality-round", project.slug, row.round.pk) + images.query
    return link(url, format_html("{}{}", _("Details"), about))


def levels_plot(row: QualityRow) -> plots.DrawnPlot:
    bars = [(str(LEVEL_NAMES[level]), row.levels[level], KINDS.get(level, "similar")) for level in FROM_THE_BEST]
    return plots.bar_plot(_("Captions by the median of their ratings"), bars)


def confusions_of(row: QualityRow, *, name_of: Callable[[int], str]) -> list[dict[str, Any]]:
    """Return each reviewer's ratings against the medians of the others, from the best level down.

    A row has a rating, and how often it came with each median, and whether they are the same.
    """
    places = [LEVELS.index(level) for level in FROM_THE_BEST]
    confusions = [
        {
            "name": name_of(reviewer["person"]),
            "compared": reviewer["compared"],
            "alone": reviewer["verdicts"] - reviewer["compared"],
            "agreement": texts.percentage(100 * reviewer["agreed"] / max(1, reviewer["compared"])),
            "rows": [
                (LEVEL_NAMES[LEVELS[said]], [(reviewer["confusion"][said][at], said == at) for at in places])
                for said in places
            ],
        }
        for reviewer in row.reviewers
    ]
    return sorted(confusions, key=lambda one: str(one["name"]))


def appendix_of(row: QualityRow) -> Iterator[str]:
    """Write what the appendix of a paper has to say about a round; nothing of figures stored by Crosslens 0.2."""
    counts, level = row.counts, Rating.NOT_ENOUGH_INFO.label
    if not counts or not row.verified:
        return
    yield _(
        "Reviewers: %(reviewers)s, of whom %(replication)s rated each caption. Ratings: %(ratings)s. Verified "
        "captions: %(captions)s. Authors: %(authors)s."
    ) % {
        "reviewers": len(row.reviewers),
        "replication": row.round.replication,
        "ratings": counts["verified_ratings"],
        "captions": row.verified,
        "authors": row.authors or _("unknown"),
    }
    yield _(
        "Captions drawn: %(drawn)s. Of these %(gone)s no longer count or are left out of results, and %(open)s lack "
        "ratings. Ratings that are late or excluded: %(left_out)s. None of these are in the figures."
    ) % {
        "drawn": counts["drawn"],
        "gone": counts["drawn"] - row.sampled,
        "open": row.sampled - row.verified,
        "left_out": counts["ratings_left_out"],
    }
    yield _("%(level)s: %(ratings)s of the ratings, and %(captions)s of the captions.") % {
        "level": level,
        "ratings": _part(counts["not_enough_info_ratings"], counts["verified_ratings"]),
        "captions": _with_intervals(row.share("not_enough_info")),
    }
    for label, name, judged in zip(levels(), SHARES, JUDGED_SHARES, strict=False):
        yield _("%(label)s: %(all)s of all verified captions, and %(judged)s without %(level)s.") % {
            "label": label,
            "all": _with_intervals(row.share(name)),
            "judged": _with_intervals(row.share(judged)),
            "level": level,
        }
    intervals = {
        "interval": _("The first 95%% interval of a share %(words)s."),
        OVER_AUTHORS: _("The 95%% interval over authors %(words)s."),
        ALPHA_INTERVAL: _("The 95%% interval of alpha %(words)s."),
    }
    for name, design in row.designs.items():
        yield intervals[name] % {"words": design.words}
    yield _("Agreement, without %(level)s: α = %(alpha)s. %(why)s") % {
        "level": level,
        "alpha": alpha_of(row) or _("undefined"),
        "why": why_no_alpha(row),
    }
    yield _("Pairs of ratings of a caption at the same level: %(all)s, and %(judged)s without %(level)s.") % {
        "all": _part(counts["same_level"], counts["pairs"]),
        "judged": _part(counts["same_level_judged"], counts["pairs_judged"]),
        "level": level,
    }


def _part(count: int, total: int) -> str:
    of = _("%(count)s of %(total)s") % {"count": count, "total": total}
    return f"{texts.percentage(100 * count / total)} ({of})" if total else of


def _with_intervals(share: ShareOfCaptions) -> str:
    if share.value is None or share.interval is None:
        return _("undefined")
    over_authors = share.over_authors
    authors = _percentages(over_authors) if isinstance(over_authors, Interval) else NO_VALUE
    intervals = f"{_percentages(share.interval)}; " + _("authors: %(interval)s") % {"interval": authors}
    return texts.with_interval(texts.percentage(100 * share.value), intervals)


def level_names() -> list[StrPromise]:
    return [LEVEL_NAMES[level] for level in FROM_THE_BEST]
