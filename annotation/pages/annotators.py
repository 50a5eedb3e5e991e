"""The annotators' page: who is shown, in which order, and one annotator's rounds in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.models import AnnotatorState
from annotation.pages import tables
from annotation.pages.progress import SEEN_DIGITS, Choice, alpha, exact, minutes
from annotation.pages.tables import Column, Head
from annotation.selectors.annotators import AnnotatorRow, RoundOfOne
from charts import texts
from crosslens_metrics.caption_stats import mean_to_one_decimal

PER_PAGE = 50
RECENTLY = timedelta(days=7)
EXCLUDED, UNDECIDED = "excluded", "undecided"
AT_WORK, RECENT, QUIET, NOT_BEGUN = "at-work", "recent", "quiet", "not-begun"


@dataclass(frozen=True)
class AnnotatorLine:
    row: AnnotatorRow
    pace: str
    minutes: str
    exact: str
    alpha: str
    status: str
    has_warning: bool


@dataclass(frozen=True)
class AnnotatorsPage:
    """`seen` identifies everything that the page shows; `query` asks for the same again."""

    page: Page[AnnotatorRow]
    lines: Sequence[AnnotatorLine]
    heads: Sequence[Head]
    languages: Sequence[Choice]
    statuses: Sequence[Choice]
    activities: Sequence[Choice]
    name: str
    sort: str
    query: str
    seen: str


@dataclass(frozen=True)
class RoundLine:
    """Return `warnings` by kind, the most frequent first."""

    row: RoundOfOne
    minutes_rating: str
    minutes_writing: str
    mean_words: str
    mean_characters: str
    exact: str
    alpha: str
    exact_of_all: str
    warnings: Sequence[tuple[str, int]]


def columns() -> list[Column[AnnotatorRow]]:
    return [
        Column("name", _("Name"), lambda row: row.person.username.casefold(), is_number=False),
        Column("language", _("Language"), lambda row: row.language.name.casefold(), is_number=False),
        Column("done", _("Captions"), lambda row: row.sums.captions),
        Column("rated", _("Rated"), lambda row: row.rated),
        Column("assigned", _("Assigned"), lambda row: row.unfinished.images),
        Column("expired", _("Expired batches"), lambda row: row.unfinished.expired),
        Column("late", _("Late"), lambda row: row.sums.late),
        Column("pace", _("Per day"), lambda row: row.pace.per_day),
        Column("minutes", _("Minutes each"), lambda row: row.sums.minutes_per_caption),
        Column("agreement", _("Agreement"), lambda row: row.shared.exact if row.shared else None),
        Column("overridden", _("Warnings"), lambda row: row.sums.overridden),
        Column("seen-at", _("Last submitted"), lambda row: row.sums.last_at),
        Column("status", _("Status"), _status_of, is_number=False),
    ]


def annotators_page(rows: Sequence[AnnotatorRow], query: QueryDict, *, now: datetime) -> AnnotatorsPage:
    name, tag = query.get("name", "").strip(), query.get("language", "")
    status, activity = query.get("status", ""), query.get("activity", "")
    shown = [
        row
        for row in rows
        if name.casefold() in row.person.username.casefold()
        and tag in ("", row.language.pk)
        and status in ("", _status_of(row))
        and activity in ("", _activity_of(row, now))
    ]
    known = columns()
    order = tables.asked_order(query, known)
    page = Paginator(tables.in_order(shown, known, order), PER_PAGE).get_page(query.get("page"))
    kept = query.copy()
    kept.pop("seen", None)
    lines = [_line(row) for row in page]
    languages = sorted({(row.language.name, row.language.pk) for row in rows})
    return AnnotatorsPage(
        page=page,
        lines=lines,
        heads=tables.heads(known, order, query),
        languages=_choices([("", _("All languages")), *((key, label) for label, key in languages)], tag),
        statuses=_choices([("", _("Any status")), *_statuses()], status),
        activities=_choices([("", _("Any activity")), *_activities()], activity),
        name=name,
        sort=query.get(tables.SORT, ""),
        query=kept.urlencode(),
        seen=sha256(repr((lines, page.number, page.paginator.count)).encode()).hexdigest()[:SEEN_DIGITS],
    )


def _choices(known: Iterable[tuple[str, str]], chosen: str) -> list[Choice]:
    return [Choice(value, label, value == chosen) for value, label in known]


def _statuses() -> list[tuple[str, str]]:
    decided = [(str(key), str(label)) for key, label in AnnotatorState.choices]
    return [*decided, (EXCLUDED, _("Excluded")), (UNDECIDED, _("No decision"))]


def _activities() -> list[tuple[str, str]]:
    return [
        (AT_WORK, _("Has a batch")),
        (RECENT, _("Submitted within the last seven days")),
        (QUIET, _("Last submitted more than seven days ago")),
        (NOT_BEGUN, _("Nothing submitted yet")),
    ]


def _status_of(row: AnnotatorRow) -> str:
    return EXCLUDED if row.is_excluded else row.status or UNDECIDED


def _activity_of(row: AnnotatorRow, now: datetime) -> str:
    if row.unfinished.batches:
        return AT_WORK
    if row.sums.last_at is None:
        return NOT_BEGUN
    return RECENT if row.sums.last_at > now - RECENTLY else QUIET


def _line(row: AnnotatorRow) -> AnnotatorLine:
    status = _status_of(row)
    return AnnotatorLine(
        row=row,
        pace=texts.plain(row.pace.per_day, 1),
        minutes=minutes(row.sums.minutes_per_caption),
        exact=exact(row.shared),
        alpha=alpha(row.shared),
        status="" if status == UNDECIDED else dict(_statuses())[status],
        has_warning=status in (EXCLUDED, AnnotatorState.PAUSED),
    )


def round_lines(rows: Iterable[RoundOfOne]) -> list[RoundLine]:
    return [_round_line(row) for row in rows]


def _round_line(row: RoundOfOne) -> RoundLine:
    sums, count = row.sums, row.sums.captions
    return RoundLine(
        row=row,
        minutes_rating=minutes(sums.rating_ms / 60_000 / count if count else None),
        minutes_writing=minutes(sums.writing_ms / 60_000 / count if count and not row.is_rating else None),
        mean_words=_mean(sums.words, 0 if row.is_rating else count),
        mean_characters=_mean(sums.characters, 0 if row.is_rating else count),
        exact=exact(row.shared),
        alpha=alpha(row.shared),
        exact_of_all=exact(row.shared_by_all),
        warnings=sorted(
            ((_named(code), number) for code, number in sums.warnings.items()), key=lambda one: (-one[1], one[0])
        ),
    )


def _mean(total: int, count: int) -> str:
    return minutes(mean_to_one_decimal(total, count))


def _named(code: str) -> str:
    names = {
        "script": _("another script"),
        "short": _("very short"),
        "repeated": _("the same twice"),
        "hidden": _("invisible characters"),
        "copied": _("close to the English caption"),
    }
    return names.get(code, code)
