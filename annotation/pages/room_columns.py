"""The columns of the control room: what each shows, sorts by and adds up to, and when it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, NamedTuple

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.models import Rating, RoundKind, RoundState
from annotation.pages.progress import NO_VALUE, alpha, exact_share, minutes
from annotation.rules.waiting import WaitingPage, WaitsFor
from annotation.selectors.control_room import RoomRow
from annotation.selectors.quality import ShareOfCaptions
from charts import texts
from core.languages.rules.cldr import DAY_OF_CHART, DAY_OF_TABLE, date_text
from core.people.pages import address
from tabular.tables import NUMBER, TEXT


class RoomCell(NamedTuple):
    """`kind` is a class of the style sheet; `note` follows in small type; `mark` says who is waited for."""

    text: str
    kind: str = "number"
    note: str = ""
    url: str = ""
    mark: str = ""


@dataclass(frozen=True)
class RoomColumn:
    """A column; `add` makes the total of the rows shown, empty where a sum would mean nothing.

    One that `is_wide` is shown only on wide screens to somebody who has not chosen any.
    """

    name: str
    label: str
    help: str
    value: Callable[[RoomRow], Any]
    cell: Callable[[RoomRow], RoomCell]
    add: Callable[[Sequence[RoomRow]], str] = lambda rows: ""
    kind: str = NUMBER
    is_wide: bool = False


def _count(name: str, label: str, help: str, *, is_wide: bool = False) -> RoomColumn:
    """A column of a number of `RoundProgress`."""

    def value(row: RoomRow) -> int:
        return int(getattr(row.progress, name))

    return RoomColumn(
        name=name,
        label=label,
        help=help,
        value=value,
        cell=lambda row: RoomCell(str(value(row))),
        add=lambda rows: str(sum(map(value, rows))),
        is_wide=is_wide,
    )


def _state(row: RoomRow) -> RoomCell:
    state, round = row.round.state, row.round
    if round.awaits_tasks:
        return RoomCell(_("Being set up"), "state")
    if state == RoundState.OPEN and not round.pool.is_open:
        return RoomCell(_("Paused"), "state state--paused")
    if state == RoundState.OPEN and row.progress.is_finished:
        return RoomCell(_("Finished"), "state state--accepted")
    if state == RoundState.CLOSED:
        return RoomCell(_("Closed"), "state state--closed")
    return RoomCell(str(RoundState(state).label), f"state state--{state}")


WHO_FIRST = {WaitsFor.YOU: 0, WaitsFor.PEOPLE: 1, WaitsFor.NOTHING: 2}


def _waiting_cell(row: RoomRow) -> RoomCell:
    if not row.waiting.what:
        return RoomCell(NO_VALUE, "waits")
    return RoomCell(row.waiting.what, f"waits waits--{row.waiting.who.value}", url=_address(row), mark="●")


def _address(row: RoomRow) -> str:
    slug, round, where = row.round.project.slug, row.round, row.waiting.where
    if where == WaitingPage.INVITE:
        role = "&role=rater" if round.kind == RoundKind.VERIFICATION else ""
        return f"{address('people:invitation-create', slug)}?language={round.language_id}{role}"
    if where == WaitingPage.SETTINGS:
        return address("annotation:round-settings", slug, round.pk)
    if where == WaitingPage.CAPTIONS:
        return f"{address('annotation:check-show', slug, round.language_id)}?round={round.pk}"
    return f"{address('annotation:language-show', slug, round.language_id)}#round-{round.pk}"


def _day(day: date | None, today: date) -> str:
    if day is None:
        return NO_VALUE
    return date_text(day, get_language() or "", DAY_OF_CHART if day.year == today.year else DAY_OF_TABLE)


def _share(name: str, row: RoomRow) -> float | None:
    return row.quality.share(name).value if row.quality else None


def _share_cell(name: str, row: RoomRow) -> RoomCell:
    return RoomCell(*share_texts(row.quality.share(name))) if row.quality else RoomCell(NO_VALUE)


def share_texts(share: ShareOfCaptions) -> tuple[str, str, str]:
    """Return the share in percent, a class, and its interval."""
    if share.value is None or share.interval is None:
        return NO_VALUE, "number", ""
    low, high = (texts.plain_number(100 * end, 0) for end in (share.interval.low, share.interval.high))
    return texts.percentage(100 * share.value, 0), "number", f"{low}–{high}"


def _alpha(row: RoomRow) -> float | None:
    return row.quality.alpha if row.quality else None


def _rated(row: RoomRow) -> RoomCell:
    if row.quality is None or not row.quality.sampled:
        return RoomCell(NO_VALUE)
    return RoomCell(f"{row.quality.verified}/{row.quality.sampled}")


def _percent(rows: Iterable[RoomRow]) -> str:
    known = list(rows)
    wanted, done = (sum(getattr(row.progress, name) for row in known) for name in ("wanted", "done"))
    return texts.percentage(100 * done // wanted, 0) if wanted else NO_VALUE


def room_columns(today: date) -> list[RoomColumn]:
    """Return all columns after the name of the language and its round, in their order."""
    return [
        RoomColumn(
            "state",
            _("State"),
            _("Of the round beside the language."),
            lambda row: list(RoundState).index(RoundState(row.round.state)),
            _state,
            kind=TEXT,
        ),
        RoomColumn(
            "waits",
            _("Waits for"),
            _("What has to happen next: by you, by people, or nothing. Select it to go where it is done."),
            lambda row: (WHO_FIRST[row.waiting.who], row.waiting.what),
            _waiting_cell,
            kind=TEXT,
        ),
        _count(
            "wanted",
            _("Required"),
            _(
                "Number of images times captions per image. In a rating round: number of captions times "
                "reviewers per caption."
            ),
        ),
        _count(
            "done",
            _("Done"),
            _(
                "Submitted captions that count. A caption that was returned for correction counts again once it is "
                "rewritten."
            ),
        ),
        RoomColumn(
            "percent",
            _("%"),
            _("Done, as a share of required; rounded down."),
            lambda row: row.progress.percent,
            lambda row: RoomCell(_percent([row])),
            _percent,
        ),
        _count("assigned", _("Assigned"), _("Images that are assigned to somebody right now.")),
        _count("open", _("Free"), _("Places that nobody has taken.")),
        _count(
            "to_correct",
            _("Returned"),
            _("Captions that were returned for correction."),
            is_wide=True,
        ),
        _count(
            "expired",
            _("Expired"),
            _("Batches that were not submitted by their deadline. Other people get their images."),
            is_wide=True,
        ),
        _count(
            "late",
            _("Late"),
            _("Captions that were submitted after the deadline. They are kept, but do not count."),
            is_wide=True,
        ),
        RoomColumn(
            "pace",
            _("Per day"),
            _("Mean of the last seven days including today, or since the start of work if that is later."),
            lambda row: row.progress.pace.per_day,
            lambda row: RoomCell(texts.plain_number(row.progress.pace.per_day, 1)),
            lambda rows: texts.plain_number(sum(row.progress.pace.per_day for row in rows), 1),
        ),
        RoomColumn(
            "end",
            _("Finish"),
            _("Estimated: the day of the last caption, at that pace. Below, the latest of them."),
            lambda row: row.progress.ends_on,
            lambda row: RoomCell(_day(row.progress.ends_on, today)),
            lambda rows: _day(max((row.progress.ends_on for row in rows if row.progress.ends_on), default=None), today),
        ),
        RoomColumn(
            "minutes",
            _("Min. each"),
            _("Minutes spent on a caption and the rating before it, without idle time."),
            lambda row: row.progress.minutes,
            lambda row: RoomCell(minutes(row.progress.minutes)),
            is_wide=True,
        ),
        RoomColumn(
            "good",
            f"{Rating.GOOD.label}+",
            _(
                "Captions that others rated good or better, with the 95% interval. For a main round that is not "
                "verified yet, those of its pilot."
            ),
            partial(_share, "good"),
            partial(_share_cell, "good"),
        ),
        RoomColumn(
            "bad",
            str(Rating.BAD.label),
            _("Captions that others rated bad, with the 95% interval."),
            partial(_share, "bad"),
            partial(_share_cell, "bad"),
        ),
        RoomColumn(
            "alpha",
            _("α"),
            _("Krippendorff’s alpha of these ratings: 1 is full agreement and 0 is chance."),
            _alpha,
            lambda row: RoomCell(NO_VALUE if (value := _alpha(row)) is None else texts.coefficient(value, 2)),
        ),
        RoomColumn(
            "rated",
            _("Rated"),
            _("Captions with all their ratings, out of those drawn."),
            lambda row: row.quality.verified if row.quality else None,
            _rated,
        ),
        RoomColumn(
            "agreement",
            _("Agreement"),
            _(
                "How often two people gave the same level to the same English caption, and Krippendorff’s alpha, for "
                "which neighbouring levels nearly agree. Computed in the background."
            ),
            lambda row: row.progress.shared.exact if row.progress.shared else None,
            lambda row: RoomCell(exact_share(row.progress.shared), note=alpha(row.progress.shared)),
            is_wide=True,
        ),
        _count(
            "overridden",
            _("Warnings"),
            _("How often somebody submitted a caption despite a warning."),
            is_wide=True,
        ),
        _count(
            "able",
            _("People"),
            _(
                "Annotators who read English and are native or fluent in the language. In a rating round, all "
                "annotators and raters who are; in a round for qualified people, those whom you qualified."
            ),
        ),
        _count("invited", _("Invited"), _("Unused places in open invitations.")),
    ]
