"""Pieces that a page has many of: levels, cells of the overview, numbers of the images of a batch.

A template's own loop over them would take a third to a half of the page's time.
"""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from annotation.pages.room_columns import RoomCell
from annotation.selectors.work import BatchStep, LevelChoice

register = template.Library()


@register.simple_tag
def level_inputs(levels: Iterable[LevelChoice], position: int, rating: str) -> SafeString:
    return format_html_join(
        "\n",
        '<label class="level"><input type="radio" name="rating-{}" value="{}" aria-describedby="level-{}"{}>{}'
        ' <kbd aria-hidden="true">{}</kbd></label>',
        (
            (position, one.value, one.key, SafeString(" checked" if one.value == rating else ""), one.label, one.key)
            for one in levels
        ),
    )


@register.simple_tag
def cells(row: Iterable[RoomCell]) -> SafeString:
    return format_html_join("", '<td class="{}">{}</td>', ((cell.kind, _content(cell)) for cell in row))


def _content(cell: RoomCell) -> str:
    text = format_html('<a href="{}">{}</a>', cell.url, cell.text) if cell.url else cell.text
    if cell.mark:
        text = format_html('<span aria-hidden="true">{}</span> {}', cell.mark, text)
    return format_html('{} <span class="room__note">{}</span>', text, cell.note) if cell.note else text


@register.simple_tag
def step_links(steps: Iterable[BatchStep], image: str, written: str) -> SafeString:
    """List the links; `image` and `written` are words for those who cannot see."""
    return format_html_join(
        "",
        '<li><a href="{}"{}{}><span class="visually-hidden">{} </span>{}'
        '<span class="visually-hidden" data-written{}> {}</span></a></li>',
        (
            (
                step.url,
                SafeString(' class="is-done"' if step.is_written else ""),
                SafeString(' aria-current="step"' if step.is_current else ""),
                image,
                step.number,
                "" if step.is_written else " hidden",
                written,
            )
            for step in steps
        ),
    )
