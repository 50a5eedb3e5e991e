"""The projects whose managers somebody may ask, on their list of work and on the pages of the game."""

from __future__ import annotations

from django import template
from django.template import Context

from core.conversation.selectors import projects_to_ask
from core.people.models import Project

register = template.Library()


@register.simple_tag(takes_context=True)
def projects_asked(context: Context) -> list[tuple[Project, int]]:
    """List nothing for visitors without an account, who may read pages of the game."""
    person = context["request"].user
    return projects_to_ask(person) if person.is_authenticated else []
