"""The numbers of the images of a batch. A template's own loop over them would take a third of the page's time."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from django import template
from django.utils.safestring import SafeString, mark_safe

from annotation.selectors.work import BatchStep

register = template.Library()


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
