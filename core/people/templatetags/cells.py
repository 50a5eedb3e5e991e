"""The cells of a table's row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from django import template
from django.template import Context
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString

from core.people.templatetags.moments import date_in_words, moment
from tabular.tables import NO_VALUE, TableColumn

register = template.Library()

STACKED = "table--stacked"


@register.simple_tag(takes_context=True)
def cells(context: Context, columns: Sequence[TableColumn[Any]], row: Any, kind: str = "") -> SafeString:
    """Show a row; its first cell is its head. Cells of a table that is stacked on small screens know their labels."""
    head, *others = [
        (column.kind and format_html(' class="{}"', column.kind), _content(context, column.shown(row)))
        for column in columns
    ]
    labels = [format_html(' data-label="{}"', column.label) if STACKED in kind else "" for column in columns[1:]]
    tds = ((name, label, content) for (name, content), label in zip(others, labels, strict=True))
    return format_html('<th scope="row"{}>{}</th>{}', *head, format_html_join("", "<td{}{}>{}</td>", tds))


def _content(context: Context, value: Any) -> str:
    if isinstance(value, datetime):
        return moment(context, value)
    if isinstance(value, date):
        return format_html('<time datetime="{}">{}</time>', value.isoformat(), date_in_words(value))
    return NO_VALUE if value is None or value == "" else conditional_escape(value)
