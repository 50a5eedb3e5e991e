"""A project's table of where languages are spoken: the newest of its versions, or the one that is shipped."""

from __future__ import annotations

from django.db.models import QuerySet

from core.languages.models import Language
from core.people.models import Project
from research.selection.models import ImportedRegion, LanguageTable
from research.selection.rules.tables import AreasTable, as_stored, read_table, shipped_table


def table_of(project: Project) -> AreasTable:
    """Return the table that counts for `project` now."""
    newest = versions_of(project).first()
    return as_stored(newest.areas) if newest else shipped_table()


def versions_of(project: Project) -> QuerySet[LanguageTable]:
    """Return all versions of the project's own table, newest first."""
    return LanguageTable.objects.filter(project=project).select_related("created_by").order_by("-number")


def checked_table(data: object) -> AreasTable:
    """Read a table for this platform: with its languages, and with regions that were imported.

    Raises TableError with everything that is wrong.
    """
    tags = set(Language.objects.values_list("pk", flat=True))
    imported = set(ImportedRegion.objects.values_list("code", flat=True))
    return read_table(data, tags=tags, imported=imported)
