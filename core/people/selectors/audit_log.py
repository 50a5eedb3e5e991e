"""The audit log of a project as its managers read it: a page at a time, however long it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from core.people.models import AuditEntry, Membership, Project, Role, User
from core.people.rules.audit_sentences import SENTENCES, sentence_of, unsaid_details
from tabular.downloads import BYTE_ORDER_MARK, csv_line

ENTRIES_PER_PAGE = 50
ROWS_AT_ONCE = 500


@dataclass(frozen=True)
class EntryFilters:
    """Filters of entries; empty ones select all. Both days are included, in UTC."""

    action: str = ""
    person: User | None = None
    first_day: date | None = None
    last_day: date | None = None


def log_page(project: Project, wanted: EntryFilters, *, before: int | None = None) -> dict[str, Any]:
    """Return the newest matching entries, or those `before` a number; a long log is as quick at its end.

    `older` is the number before which the next page begins; None if there is none.
    """
    entries = entries_of(project, wanted)
    if before is not None:
        entries = entries.filter(number__lt=before)
    rows = list(entries[: ENTRIES_PER_PAGE + 1])
    shown = rows[:ENTRIES_PER_PAGE]
    older = shown[-1].number if len(rows) > len(shown) else None
    return {"lines": [_line(entry) for entry in shown], "older": older}


def actions_in(project: Project) -> list[tuple[str, str]]:
    """Return the codes of actions in the log, with their names in a list."""
    codes = AuditEntry.objects.filter(project=project).order_by("action").values_list("action", flat=True).distinct()
    return [(code, _headline(code)) for code in codes]


def is_known_in(project: Project, person: User) -> bool:
    """Return whether `person` is in `project`, or in its audit log."""
    entries = AuditEntry.objects.filter(Q(by=person) | Q(person=person), project=project)
    return Membership.objects.filter(project=project, user=person).exists() or entries.exists()


def log_as_csv(project: Project, wanted: EntryFilters) -> Iterator[str]:
    """Yield the log from its beginning, line by line, in constant memory."""
    yield BYTE_ORDER_MARK + csv_line(("number", "at", "by", "action", "about", "person", "reason", "details", "said"))
    for entry in entries_of(project, wanted).order_by("number").iterator(chunk_size=ROWS_AT_ONCE):
        line = _line(entry)
        person = name_of(entry.person) if entry.person else ""
        details = "; ".join(f"{name}: {value}" for name, value in line["more"])
        cells = (entry.at.astimezone(UTC).isoformat(), line["who"], entry.action, entry.about, person)
        yield csv_line((entry.number, *cells, line["reason"], details, line["said"]))


def entries_of(project: Project, wanted: EntryFilters) -> QuerySet[AuditEntry]:
    """Select matching entries, the newest first."""
    entries = AuditEntry.objects.filter(project=project).select_related("by", "person").order_by("-number")
    if wanted.action:
        entries = entries.filter(action=wanted.action)
    if wanted.person:
        entries = entries.filter(Q(by=wanted.person) | Q(person=wanted.person))
    if wanted.first_day:
        entries = entries.filter(at__gte=_midnight(wanted.first_day))
    if wanted.last_day:
        entries = entries.filter(at__lt=_midnight(wanted.last_day) + timedelta(days=1))
    return entries


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _line(entry: AuditEntry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "at": entry.at,
        "who": name_of(entry.by),
        "said": sentence_of_entry(entry),
        "reason": str(entry.details.get("reason", "")),
        "more": unsaid_details(entry.details),
    }


def sentence_of_entry(entry: AuditEntry) -> str:
    """Return the sentence of `entry`, whose `person` is loaded."""
    return sentence_of(entry.action, about=_subject_of(entry), person=name_of(entry.person), details=entry.details)


def name_of(person: User | None) -> str:
    """Return a person's name in the log, or a placeholder for a deleted account."""
    if person is None:
        return _("the system")
    return _("a deleted account") if person.deleted_at else person.username


def _subject_of(entry: AuditEntry) -> str:
    is_role = entry.action.startswith(("role.", "invitation.")) and entry.about in Role.values
    return str(Role(entry.about).label) if is_role else entry.about


def _headline(code: str) -> str:
    """Return the sentence with dots in place of object and person."""
    blank = dict.fromkeys(("about", "person", "version", "places"), "…")
    return (str(SENTENCES[code]) % blank).removesuffix(".") if code in SENTENCES else code
