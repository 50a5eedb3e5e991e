"""What the dashboard knows of a project, on pages of apps below: the next step of its setup, and who waits."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context
from django.utils import timezone

from annotation.selectors.overview import ProjectProgress
from core.people.models import Project
from office.dashboard.selectors.needs import needs_of_practice
from office.dashboard.selectors.setup import is_released, setup_of

register = template.Library()


@register.inclusion_tag("dashboard/_setup_summary.html")
def setup_summary(project: Project, progress: ProjectProgress) -> dict[str, Any]:
    """Show how far the setup is, and its next step; nothing once the project has a release or is archived."""
    if project.is_archived or is_released(project):
        return {}
    return {"project": project, "setup": setup_of(project, released=False, now=timezone.now(), progress=progress)}


@register.inclusion_tag("dashboard/_needs_of_practice.html", takes_context=True)
def needs_you(context: Context, project: Project) -> dict[str, Any]:
    """Show who has no tries left at the practice and waits for a manager; nothing once the project is archived."""
    needs = [] if project.is_archived else needs_of_practice(project)
    return {"request": context["request"], "needs": needs}
