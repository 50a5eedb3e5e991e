"""The style sheets of a page: those of its app, after the ones that every page has."""

from __future__ import annotations

from django import template
from django.template.context import Context
from django.templatetags.static import static
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from core.people.rules.project_pages import page_of

register = template.Library()

APP_SHEETS = {
    "annotation": ("annotation", "campaigns", "reports"),
    "corpora": ("places", "reports"),
    "dashboard": ("dashboard",),
    "gapgame": ("game", "seasons", "reports"),
    "images": ("collections",),
    "inference": ("models", "reports"),
    "people": ("people",),
    "practice": ("annotation", "campaigns"),
    "recruitment": ("people",),
    "scoring": ("reports",),
    "sxs_eval": ("comparisons", "reports"),
}
"""What the pages of an app need besides tables. The screens that people work on name their one sheet themselves."""


@register.simple_tag(takes_context=True)
def app_sheets(context: Context) -> SafeString:
    """Link tables, the navigation of a project, and the sheets of the app that the page belongs to."""
    match = getattr(context.get("request"), "resolver_match", None)
    if match is None:
        return sheets("tables")
    navigation = ("project",) if page_of(match.route) else ()
    return sheets("tables", *navigation, *APP_SHEETS.get(match.app_name, ()))


@register.simple_tag
def sheets(*names: str) -> SafeString:
    """Link the sheets of these names, in this order."""
    return format_html_join("\n", '<link rel="stylesheet" href="{}">', ((static(f"css/{name}.css"),) for name in names))
