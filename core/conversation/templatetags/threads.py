"""The projects whose managers somebody may ask, on their list of work."""

from __future__ import annotations

from django import template
from django.template import Context

from core.conversation.selectors import projects_to_ask
from core.people.models import Project

register = template.Library()


@register.simple_tag(takes_context=True)
def projects_asked(context: Context) -> list[tuple[Project, int]]:
    return projects_to_ask(context["request"].user)
