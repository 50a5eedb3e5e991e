"""Markdown that people write for each other, as HTML that is safe to show."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import nh3
from django.utils.safestring import SafeString, mark_safe

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

TAGS = {
    "a", "blockquote", "br", "code", "em", "h2", "h3", "h4", "hr", "li", "ol", "p", "pre", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


@cache
def _parser() -> MarkdownIt:
    # 60 modules, which processes that show no text do without.
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table")


def to_html(markdown: str) -> SafeString:
    return mark_safe(nh3.clean(_parser().render(markdown), tags=TAGS, attributes={"a": {"href"}}))  # noqa: S308 - cleaned
