"""Find the selection that a command names."""

from __future__ import annotations

from django.core.management.base import CommandError

from core.people.management.arguments import project_named
from research.selection.models import Selection


def selection_numbered(project: str, number: int) -> Selection:
    rows = Selection.objects.select_related("project", "collection").filter(project=project_named(project))
    selection = rows.filter(number=number).first()
    if selection is None:
        known = ", ".join(str(one.number) for one in rows.order_by("number")) or "none"
        raise CommandError(f"The project has no selection {number}. It has: {known}.")
    return selection
