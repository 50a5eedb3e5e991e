"""The annotators' page: who is shown, in which order, and one annotator's rounds in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.core.paginator import Paginator
from django.http import QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import AnnotatorState
from annotation.pages.progress import alpha, exact_share, minutes, seen_of
from annotation.selectors.annotators import AnnotatorRow, RoundOfOne
from charts import texts
from core.people.models import User
from core.people.pages import address
from crosslens_metrics.caption_stats import mean_to_one_decimal
from tabular import tables
from tabular.tables import NO_VALUE, TEXT, PageTable, TableColumn, for_readers, isolated, link, note, parts, tag

PER_PAGE = 50
RECENTLY = timedelta(days=7)
EXCLUDED, UNDECIDED = "excluded", "undecided"
AT_WORK, RECENT, QUIET, NOT_BEGUN = "at-work", "recent", "quiet", "not-begun"


def columns(slug: str) -> list[TableColumn[AnnotatorRow]]:
    return [
        TableColumn("name", _("Name"), lambda row: row.person.username.casefold(), lambda row: _name(row, slug), TEXT),
        TableColumn(
            "language", _("Language"), lambda row: row.language.name.casefold(), lambda row: _language(row, slug), TEXT
        ),
        TableColumn("done", _("Captions"), lambda row: row.sums.captions, _captions),
        TableColumn("rated", _("Rated"), lambda row: row.rated),
        TableColumn("assigned", _("Assigned"), lambda row: row.unfinished.images),
        TableColumn("expired", _("Expired batches"), lambda row: row.unfinished.expired),
        TableColumn("late", _("Late"), lambda row: row.sums.late),
        TableColumn(
            "pace", _("Per day"), lambda row: row.pace.per_day, lambda row: texts.plain_number(row.pace.per_day, 1)
        ),
        TableColumn(
            "minutes",
            _("Minutes each"),
            lambda row: row.sums.minutes_per_caption,
            lambda row: minutes(row.sums.minutes_per_caption),
        ),
        TableColumn(
            "agreement",
            _("Agreement"),
            lambda row: row.shared.exact if row.shared else None,
            lambda row: parts(exact_share(row.shared), note(alpha(row.shared))),
        ),
        TableColumn("overridden", _("Warnings"), lambda row: row.sums.overridden),
        TableColumn("seen-at", _("Last submitted"), lambda row: row.sums.last_at),
        TableColumn("status", _("Status"), _status_of, _status, TEXT),
    ]


def _name(row: AnnotatorRow, slug: str) -> str:
    name = link(address("annotation:annotator-show", slug, row.person.pk), isolated(row.person.username))
    return parts(name, note("" if row.is_member else _("no longer an annotator")))


def _language(row: AnnotatorRow, slug: str) -> str:
    return link(address("annotation:language-show", slug, row.language.pk), row.language.name)


def _captions(row: AnnotatorRow | RoundOfOne) -> str:
    returned = ngettext("%(number)s returned for correction", "%(number)s returned for correction", row.to_correct) % {
        "number": row.to_correct
    }
    return parts(str(row.sums.captions), note(returned if row.to_correct else ""))


def _status(row: AnnotatorRow) -> str:
    status = _status_of(row)
    kind = "warning" if status in (EXCLUDED, AnnotatorState.PAUSED) else ""
    return "" if status == UNDECIDED else tag(dict(_statuses())[status], kind)


def annotators_page(rows: Sequence[AnnotatorRow], query: QueryDict, *, slug: str, now: datetime) -> dict[str, Any]:
    """Prepare the page: `seen` identifies everything that it shows; `query` asks for the same again."""
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
    known = columns(slug)
    order = tables.asked_order(query, known)
    page = Paginator(tables.in_order(shown, known, order), PER_PAGE).get_page(query.get("page"))
    kept = query.copy()
    kept.pop("seen", None)
    return {
        "page": page,
        "table": PageTable("annotators-caption", caption(page.paginator.count), known, page, _empty(slug, kept), query),
        "languages": sorted({(row.language.pk, row.language.name) for row in rows}, key=lambda one: one[1]),
        "statuses": _statuses(),
        "activities": _activities(),
        "query": kept.urlencode(),
        "seen": seen_of((list(page), page.number, page.paginator.count)),
    }


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


def caption(number: int) -> str:
    return ngettext(
        "%(number)s row: one person in one language", "%(number)s rows, one for each person and language", number
    ) % {"number": number}


def _empty(slug: str, query: QueryDict) -> str:
    if query:
        return _("Nobody matches these filters.")
    invite = link(address("people:invitation-create", slug), _("Invite people"))
    return parts(_("Nobody writes or rates captions here yet."), invite)


def rounds_table(rows: Sequence[RoundOfOne], slug: str, person: User) -> PageTable[RoundOfOne]:
    """One annotator's work by round."""
    columns: list[TableColumn[RoundOfOne]] = [
        TableColumn("round", _("Round"), lambda row: _round(row, slug, person), kind=TEXT),
        TableColumn("done", _("Done"), _captions),
        TableColumn("assigned", _("Assigned"), lambda row: row.unfinished.images),
        TableColumn("expired", _("Expired batches"), lambda row: row.unfinished.expired),
        TableColumn("late", _("Late"), lambda row: row.sums.late),
        TableColumn("rating", _("Minutes to rate"), lambda row: _minutes_each(row, row.sums.rating_ms)),
        TableColumn(
            "writing",
            _("Minutes to write"),
            lambda row: None if row.is_rating else _minutes_each(row, row.sums.writing_ms),
        ),
        TableColumn("words", _("Words"), _words),
        TableColumn("characters", _("Characters"), lambda row: _mean(row, row.sums.characters)),
        TableColumn("agreement", _("Agreement"), _agreement),
        TableColumn("warnings", _("Warnings"), _warnings, kind=TEXT),
        TableColumn("seen-at", _("Last submitted"), lambda row: row.sums.last_at),
    ]
    return PageTable("rounds-caption", _("Work by round"), columns, rows)


def _round(row: RoundOfOne, slug: str, person: User) -> str:
    round, name = row.round, row.round.language.name
    check = f"{address('annotation:check-show', slug, round.language_id)}?round={round.pk}&annotator={person.pk}"
    feedback = f"{address('annotation:feedback-create', slug, round.pk)}?person={person.pk}"
    about = for_readers(f": {name}, {round.title}")
    actions = (
        [(feedback, _("Give feedback"))] if row.is_rating else [(check, _("Check")), (feedback, _("Give feedback"))]
    )
    return parts(
        link(address("annotation:language-show", slug, round.language_id), name),
        note(round.title),
        *(format_html('<a class="small" href="{}">{}{}</a>', url, text, about) for url, text in actions),
    )


def _minutes_each(row: RoundOfOne, all_ms: int) -> str | None:
    return minutes(all_ms / 60_000 / row.sums.captions) if row.sums.captions else None


def _words(row: RoundOfOne) -> str:
    is_vague = not row.is_rating and not row.round.language.spaced
    return parts(_mean(row, row.sums.words), note(_("not meaningful") if is_vague else ""))


def _agreement(row: RoundOfOne) -> str:
    of_all = exact_share(row.shared_by_all)
    return parts(
        exact_share(row.shared),
        note(alpha(row.shared)),
        note("" if of_all == NO_VALUE else _("all: %(share)s") % {"share": of_all}),
    )


def _warnings(row: RoundOfOne) -> str:
    """The kinds of warnings, the most frequent first."""
    counts = sorted(
        ((_named(code), number) for code, number in row.sums.warnings.items()), key=lambda one: (-one[1], one[0])
    )
    return format_html_join(SafeString("<br>"), '<span class="together">{}: {}</span>', counts)


def _mean(row: RoundOfOne, total: int) -> str:
    return minutes(mean_to_one_decimal(total, 0 if row.is_rating else row.sums.captions))


def _named(code: str) -> str:
    names = {
        "script": _("another script"),
        "short": _("very short"),
        "repeated": _("the same twice"),
        "hidden": _("invisible characters"),
        "copied": _("close to the English caption"),
    }
    return names.get(code, code)
