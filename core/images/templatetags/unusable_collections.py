"""Collections that a page of a project cannot offer, with the way to change that."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import reverse

from core.images.models import Collection
from core.people.models import Project
from core.people.requests import user_of
from core.people.selectors.projects import unusable_things

register = template.Library()


@register.inclusion_tag("people/_unusable_things.html", takes_context=True)
def unusable_collections(context: dict[str, Any], project: Project | None) -> dict[str, Any]:
    """List the viewer's own collections that `project`, or a new one, cannot use yet."""
    request = context["request"]
    things = unusable_things(
        Collection.objects.filter(is_shared=False),
        project or None,
        by=user_of(request),
        url_of=lambda one: reverse("images:collection-owner", args=[one.slug]),
    )
    return {"things": things, "project": project, "next": request.get_full_path()}
