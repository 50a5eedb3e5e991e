"""The levels beside a caption to rate. A template's own loop over 75 of them would take a third of the page's time."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from django import template
from django.utils.safestring import SafeString, mark_safe

from annotation.selectors.work import LevelChoice

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
