"""The setup of a project on pages of apps below: the next step, while there is one."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils import timezone

from annotation.selectors.overview import ProjectProgress
from dashboard.selectors.setup import is_released, setup_of, setup_without_project
from people.models import Project, User

register = template.Library()


@register.inclusion_tag("dashboard/_setup_summary.html")
def setup_summary(project: Project, progress: ProjectProgress) -> dict[str, Any]:
    """Show how far the setup is, and its next step; nothing once the project has a release or is archived."""
    if project.is_archived or is_released(project):
        return {}
    return {"project": project, "setup": setup_of(project, released=False, now=timezone.now(), progress=progress)}


@register.inclusion_tag("dashboard/_setup_steps.html")
def first_steps(user: User) -> dict[str, Any]:
    """Show the steps to a first project."""
    return {"setup": setup_without_project(user)}
