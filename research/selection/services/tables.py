"""Replace a project's table of where languages are spoken by a new version."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from core.people.models import Project, User
from core.people.services import audit_log
from research.selection.models import LanguageTable
from research.selection.rules.tables import AreasTable, TableError, changes_between
from research.selection.selectors.tables import table_of


class TableChangedError(TableError):
    """Says that somebody else replaced the table since it was read."""


def replace_table(
    *, project: Project, table: AreasTable, note: str, by: User | None, now: datetime, expected: str = ""
) -> LanguageTable | None:
    """Add `table` as the newest version; None where nothing would change, reasons included.

    - `table`: as `research.selection.selectors.tables.checked_table` returns it.
    - `expected`: the version that the change is based on; empty: whatever it is.

    Raises TableChangedError where the project's table is another one than `expected` by now. Nothing is changed.
    """
    with transaction.atomic():
        # Versions of one project take turns, so that none gets the number of another.
        audit_log.lock(project, by)
        before = table_of(project)
        if expected and expected != before.version:
            raise TableChangedError([_("Somebody else changed the table meanwhile. Look at it again first.")])
        if table.as_entries() == before.as_entries():
            return None
        last = LanguageTable.objects.filter(project=project).order_by("-number").first()
        made = LanguageTable.objects.create(
            project=project,
            number=last.number + 1 if last else 1,
            areas=table.as_entries(),
            note=note,
            created_at=now,
            created_by=by,
        )
        tags: Collection[str] = [change.tag for change in changes_between(before, table)]
        details = {"version": table.version, "number": made.number, "languages": list(tags), "reason": note}
        audit_log.record(
            project=project, action="language-table.replaced", about=str(made.number), by=by, now=now, details=details
        )
    return made
