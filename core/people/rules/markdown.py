"""Markdown that people write for each other, and that of our guides, as HTML that is safe to show."""

from __future__ import annotations

import re
from collections.abc import Callable
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


def guide_to_html(markdown: str, *, link: Callable[[str], str], image: Callable[[str], str]) -> SafeString:
    """Render a guide, whose headings can be linked; `link` and `image` say where an address of it leads here."""
    tokens = _parser().parse(markdown)
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following:
            token.attrSet("id", section_of(following.content))
        for inner in token.children or []:
            if inner.type == "link_open":
                inner.attrSet("href", link(str(inner.attrGet("href"))))
            elif inner.type == "image":
                inner.attrSet("src", image(str(inner.attrGet("src"))))
    html = _parser().renderer.render(tokens, _parser().options, {})
    attributes = {"a": {"href"}, "img": {"src", "alt"}} | {f"h{level}": {"id"} for level in range(1, 5)}
    return mark_safe(nh3.clean(html, tags=TAGS | {"h1", "img"}, attributes=attributes))  # noqa: S308 - cleaned


def section_of(heading: str) -> str:
    """Return how links name the section below a heading, as repositories show it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
