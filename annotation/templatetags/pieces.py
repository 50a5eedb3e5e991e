"""Pieces that a page has many of: levels, cells of the overview, numbers of the images of a batch.

A template's own loop over them would take a third to a half of the page's time.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from django import template
from django.utils.safestring import SafeString, mark_safe

from annotation.pages.room_columns import RoomCell
from annotation.selectors.work import BatchStep, LevelChoice

register = template.Library()


@register.simple_tag
def level_inputs(levels: Iterable[LevelChoice], position: int, rating: str) -> SafeString:
    return mark_safe("\n".join(_level(level, position, rating) for level in levels))  # noqa: S308 - words are escaped


def _level(level: LevelChoice, position: int, rating: str) -> str:
    checked = " checked" if level.value == rating else ""
    return (
        f'<label class="level"><input type="radio" name="rating-{position}" value="{level.value}"'
        f' aria-describedby="level-{level.key}"{checked}>{escape(level.label)}'
        f' <kbd aria-hidden="true">{level.key}</kbd></label>'
    )


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


@register.simple_tag
def step_links(steps: Iterable[BatchStep], image: str, written: str) -> SafeString:
    """List the links; `image` and `written` are words for those who cannot see."""
    before, after = escape(image), escape(written)
    return mark_safe("".join(_link(step, before, after) for step in steps))  # noqa: S308 - words are escaped


def _link(step: BatchStep, image: str, written: str) -> str:
    done, hidden = (' class="is-done"', "") if step.is_written else ("", " hidden")
    current = ' aria-current="step"' if step.is_current else ""
    return (
        f'<li><a href="{step.url}"{done}{current}><span class="visually-hidden">{image} </span>{step.number}'
        f'<span class="visually-hidden" data-written{hidden}> {written}</span></a></li>'
    )
