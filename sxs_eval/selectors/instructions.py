"""The instructions for raters, for translators."""

from __future__ import annotations

from core.people.models import Project
from core.people.selectors.texts import OriginalText
from sxs_eval.models import Instructions


def newest_instructions(project: Project) -> OriginalText | None:
    newest = Instructions.objects.filter(project=project).order_by("version").last()
    return OriginalText(newest.version, newest.body) if newest else None
