"""The cells of the overview's rows. A template's own loop over hundreds of them would take half of the page's time."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from django import template
from django.utils.safestring import SafeString, mark_safe

from annotation.pages.room_columns import RoomCell

register = template.Library()


@register.simple_tag
def cells(row: Iterable[RoomCell]) -> SafeString:
    return mark_safe("".join(map(_cell, row)))  # noqa: S308 - every text in it is escaped


def _cell(cell: RoomCell) -> str:
    text = escape(cell.text)
    if cell.url:
        text = f'<a href="{escape(cell.url)}">{text}</a>'
    if cell.mark:
        text = f'<span aria-hidden="true">{escape(cell.mark)}</span> {text}'
    if cell.note:
        text = f'{text} <span class="room__note">{escape(cell.note)}</span>'
    return f'<td class="{escape(cell.kind)}">{text}</td>'
