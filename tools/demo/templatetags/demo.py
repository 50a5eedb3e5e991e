"""What the front page of the demo shows besides."""

from __future__ import annotations

from typing import Any

from django import template

from tools.demo.people import OFFERED, PASSWORD, PEOPLE
from tools.demo.preparation import is_demo

register = template.Library()


@register.inclusion_tag("demo/_people.html")
def demo_people() -> dict[str, Any]:
    """Offer to sign in as one of the people, by the password that everybody knows; nothing in an installation."""
    if not is_demo():
        return {}
    people = {person.username: person for person in PEOPLE}
    first = [people.pop(username) for username in OFFERED]
    return {"groups": [first, list(people.values())], "password": PASSWORD}
