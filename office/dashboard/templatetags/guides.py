"""The link of each page to its guide."""

from __future__ import annotations

from django import template
from django.template import Context
from django.urls import reverse

from office.dashboard.rules.guides import guide_of

register = template.Library()


@register.simple_tag(takes_context=True)
def guide_address(context: Context) -> str:
    """Return where the guide to this page is; empty for a page without one."""
    match = getattr(context.get("request"), "resolver_match", None)
    name, section = guide_of(match.view_name) if match and match.view_name else ("", "")
    return reverse("dashboard:guide-show", args=[name]) + (f"#{section}" if section else "") if name else ""
