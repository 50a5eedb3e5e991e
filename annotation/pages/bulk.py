"""What an action would do to each of the chosen rounds, and which are left out and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Rating, Round, RoundKind, RoundState
from annotation.pages.quality import or_better
from annotation.pages.room_columns import share_texts
from annotation.rules.bulk_actions import BulkAction, consequence, of_batches
from annotation.rules.campaign import RoundAction, why_not
from annotation.selectors.control_room import RoomRow, target_of
from annotation.selectors.feedback import readers_by_language
from annotation.services.bulk import BulkOutcome
from annotation.services.projects import changed_settings, settings_of
from charts import texts
from core.people.models import Project


@dataclass(frozen=True)
class PlannedAction:
    """A chosen round with what would happen to it, or why it is left out. `evidence` is for deciding about it."""

    row: RoomRow
    what: str = ""
    why_left_out: str = ""
    evidence: str = ""

    @property
    def round(self) -> Round:
        return self.row.round


def preview_of(
    action: BulkAction, chosen: Sequence[RoomRow], *, project: Project, changes: Mapping[str, Any] | None = None
) -> list[PlannedAction]:
    if action == BulkAction.SETTINGS:
        return [_of_settings(row, changes or {}) for row in chosen]
    if action == BulkAction.RETURN:
        return [_of_return(row) for row in chosen]
    if action == BulkAction.WRITE:
        return _of_message(chosen, project)
    assert action.step is not None
    return [_of_step(row, action.step) for row in chosen]


def chosen_rows(
    rows: Sequence[RoomRow], action: BulkAction, languages: Iterable[str], rounds: Iterable[str]
) -> list[RoomRow]:
    """Return the rounds named by their keys, and of each language named that round which the action is about."""
    tags, keys = set(languages), set(rounds)
    chosen = [row for row in rows if str(row.round.pk) in keys]
    for tag, of_language in groupby(rows, key=lambda row: row.round.language_id):
        if tag in tags:
            known = list(of_language)
            current = next(row for row in known if row.is_current)
            chosen.append(target_of(known, action.step) if action.step else current)
    return chosen


def _of_step(row: RoomRow, action: RoundAction) -> PlannedAction:
    why = why_not(action, row.step, row.steps)
    is_decision = action in (RoundAction.ACCEPT, RoundAction.REJECT)
    if why is None and is_decision and row.batches:
        why = f"{of_batches(row.batches)} {_('Wait until they are submitted, or return them.')}"
    if why:
        return PlannedAction(row, why_left_out=why)
    said = [consequence(action, row.step, row.steps)]
    if action == RoundAction.CLOSE:
        said.append(_missing(row))
        said.append(of_batches(row.progress.batches))
    if action == RoundAction.ACCEPT and row.round.kind != RoundKind.VERIFICATION:
        said.append(_missing(row))
    return PlannedAction(row, " ".join(filter(None, said)), evidence=_evidence(row) if is_decision else "")


def _missing(row: RoomRow) -> str:
    missing = max(0, row.progress.wanted - row.progress.done)
    if not missing:
        return ""
    if row.round.kind == RoundKind.VERIFICATION:
        text = ngettext("%(number)d rating is missing.", "%(number)d ratings are missing.", missing)
    else:
        text = ngettext("%(number)d caption is missing.", "%(number)d captions are missing.", missing)
    return text % {"number": missing}


def _evidence(row: RoomRow) -> str:
    quality = row.quality
    if quality is None or not quality.verified:
        return ""
    shares = [(or_better(Rating.GOOD), quality.share("good")), (Rating.BAD.label, quality.share("bad"))]
    said = [_("%(verified)d of %(sampled)d rated") % {"verified": quality.verified, "sampled": quality.sampled}]
    for name, share in shares:
        value, _kind, interval = share_texts(share)
        said.append(f"{value} {name} ({interval})")
    if quality.alpha is not None:
        said.append(f"α {texts.coefficient(quality.alpha, 2)}")
    return ", ".join(said)


def _of_return(row: RoomRow) -> PlannedAction:
    if row.round.state == RoundState.OPEN:
        return PlannedAction(row, why_left_out=_("This round is open. Close it first."))
    if not row.progress.batches:
        return PlannedAction(row, why_left_out=_("It has no unfinished batches."))
    text = ngettext(
        "%(number)d batch is returned: it can no longer be submitted. Drafts are kept.",
        "%(number)d batches are returned: they can no longer be submitted. Drafts are kept.",
        row.progress.batches,
    )
    return PlannedAction(row, text % {"number": row.progress.batches})


def _of_settings(row: RoomRow, changes: Mapping[str, Any]) -> PlannedAction:
    """Say what changes; without changes, say how it is."""
    before, names = settings_of(row.round), _setting_names(row.round)
    if not changes:
        return PlannedAction(
            row, ", ".join(f"{name}: {_setting(key, getattr(before, key))}" for key, name in names.items())
        )
    after, why_not = changed_settings(row.round, changes)
    said = [
        f"{name}: {_setting(key, getattr(before, key))} → {_setting(key, getattr(after, key))}"
        for key, name in names.items()
        if getattr(after, key) != getattr(before, key)
    ]
    return PlannedAction(row, ". ".join(said), why_left_out=why_not)


def _setting_names(round: Round) -> Mapping[str, str]:
    is_rating = round.kind == RoundKind.VERIFICATION
    return {
        "replication": _("Reviewers per caption") if is_rating else _("Captions per image"),
        "batch_size": _("Captions per batch") if is_rating else _("Images per batch"),
        "lease_s": _("Hours to finish a batch"),
        "is_open": _("Allow new batches"),
        "needs_qualification": _("Only for qualified people"),
    }


def _setting(name: str, value: Any) -> str:
    if name == "lease_s":
        return texts.plain_number(value / 3600, 0 if value % 3600 == 0 else 2)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(value)


def _of_message(chosen: Sequence[RoomRow], project: Project) -> list[PlannedAction]:
    readers = readers_by_language(project, {row.round.language_id for row in chosen})
    reached: set[int] = set()
    planned = []
    for row in chosen:
        people = readers.get(row.round.language_id, set()) - reached
        reached |= people
        if people:
            text = ngettext("%(number)d annotator gets it.", "%(number)d annotators get it.", len(people))
            planned.append(PlannedAction(row, text % {"number": len(people)}))
        else:
            why = _("It has no annotators, or they get the message in another language.")
            planned.append(PlannedAction(row, why_left_out=why))
    return planned


def said_done(action: BulkAction, outcomes: Sequence[BulkOutcome]) -> str:
    """Say what was done; empty if nothing was."""
    done = [one for one in outcomes if one.is_done]
    if not done:
        return ""
    if action == BulkAction.WRITE:
        people = sum(one.people for one in done)
        text = ngettext(
            "Your message was sent to %(number)d person.", "Your message was sent to %(number)d people.", people
        )
        return text % {"number": people}
    if len(done) == 1 and action.step:
        (one,) = done
        return f"{one.round.language.name}, {one.round.title}: {one.round.get_state_display()}."
    return _DONE[action](len(done)) % {"number": len(done)}


def said_left_out(outcomes: Sequence[BulkOutcome]) -> list[str]:
    """Say which rounds were left out and why, once for each reason."""
    by_reason: dict[str, list[str]] = {}
    for one in outcomes:
        if not one.is_done:
            by_reason.setdefault(one.why_left_out, []).append(one.round.language.name)
    return [
        _("Left out: %(languages)s. %(why)s") % {"languages": ", ".join(languages), "why": why}
        for why, languages in by_reason.items()
    ]


_DONE: Mapping[BulkAction, Callable[[int], str]] = {
    BulkAction.OPEN: lambda n: ngettext("%(number)d round is open.", "%(number)d rounds are open.", n),
    BulkAction.CLOSE: lambda n: ngettext("%(number)d round is closed.", "%(number)d rounds are closed.", n),
    BulkAction.ACCEPT: lambda n: ngettext("%(number)d round is accepted.", "%(number)d rounds are accepted.", n),
    BulkAction.REOPEN: lambda n: ngettext("%(number)d round is open again.", "%(number)d rounds are open again.", n),
    BulkAction.REJECT: lambda n: ngettext("%(number)d round is rejected.", "%(number)d rounds are rejected.", n),
    BulkAction.SKIP: lambda n: ngettext("%(number)d round is skipped.", "%(number)d rounds are skipped.", n),
    BulkAction.RETURN: lambda n: ngettext(
        "The unfinished batches of %(number)d round were returned.",
        "The unfinished batches of %(number)d rounds were returned.",
        n,
    ),
    BulkAction.SETTINGS: lambda n: ngettext(
        "The settings of %(number)d round are saved. They apply to batches that people take from now on.",
        "The settings of %(number)d rounds are saved. They apply to batches that people take from now on.",
        n,
    ),
}
