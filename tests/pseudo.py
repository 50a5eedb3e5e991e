"""A pseudo-locale: every message of the pages of work in brackets and 40% longer. One that is not marked shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polib
import pytest
from django.conf import settings
from django.utils.translation import trans_real

from core.people.templatetags import sheets

LANGUAGE = "id"
"""Whose catalogue is replaced: one without plural forms, read from left to right."""
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[sd]|%%|\{\w*\}|<[^>]+>")
SAID = ("aria-label", "alt", "placeholder", "title")
SILENT = {"script", "style", "textarea"}


def longer(message: str) -> str:
    """`message` in brackets, with as many dots as make it 40% longer. Placeholders and tags stay."""
    return f"⟦{message}{'·' * (len(PLACEHOLDER.sub('', message)) * 2 // 5)}⟧"


def messages_of(language: str) -> dict[str, str]:
    messages = {}
    for entry in polib.pofile(str(Path(settings.BASE_DIR) / "locale" / language / "LC_MESSAGES" / "django.po")):
        context = f"{entry.msgctxt}\x04" if entry.msgctxt else ""
        messages[context + entry.msgid] = longer(entry.msgid_plural or entry.msgid)
    return messages


class Catalogue:
    """What Django asks a language for: the messages of Indonesian's catalogue, and those that nobody collected yet."""

    def __init__(self, others: Any) -> None:
        self._others = others
        self._known, self._of_managers = messages_of(LANGUAGE), messages_of("ar")

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self._known:
            return self._known[key]
        # From Python 3.12 a message that is not found is asked for again, with the number of its plural.
        is_known = isinstance(key, tuple) or key in self._of_managers or key in self._others
        return self._others.get(key, default) if is_known else longer(key.rpartition("\x04")[2])

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def __getitem__(self, key: Any) -> str:
        return self._known[key[0] if isinstance(key, tuple) else key]

    def plural(self, key: str, number: int) -> str:
        if key in self._known or key in self._of_managers or (key, number) in self._others:
            return self._known[key]
        return longer(key)


@pytest.fixture
def pseudo(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The code of the language that is the pseudo-locale during a test."""
    # What was rendered in Indonesian before has Indonesian words.
    sheets._rendered.cache_clear()
    translation = trans_real.translation(LANGUAGE)
    others = vars(translation)["_catalog"]
    monkeypatch.setattr(translation, "_catalog", Catalogue(others))
    yield LANGUAGE
    sheets._rendered.cache_clear()


class _Texts(HTMLParser):
    """What a page says in its own language: without names, and without what others wrote in theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        is_other = given.get("lang", LANGUAGE) != LANGUAGE or tag in {"bdi", *SILENT} or self._is_other
        if not is_other:
            self.said += [text for name in SAID if (text := given.get(name))]
            self.said += [text for name, text in attrs if name.startswith("data-text") and text]
        if tag not in {"area", "br", "hr", "img", "input", "link", "meta", "source", "wbr"}:
            self._open.append((tag, is_other))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._is_other:
            self.said.append(data)

    @property
    def _is_other(self) -> bool:
        return bool(self._open and self._open[-1][1])


def left_in_english(page: str, names: set[str]) -> Iterator[str]:
    """Words of a page outside of the brackets, save `names`."""
    texts = _Texts()
    texts.feed(page)
    said = "\n".join(texts.said)
    # Messages stand in messages: the innermost brackets go first.
    while (inner := re.sub(r"⟦[^⟦⟧]*⟧", "", said)) != said:
        said = inner
    for word in words_of(re.sub(r"[⟦⟧·]", " ", said)):
        if word not in names:
            yield word


def words_of(text: str) -> list[str]:
    return re.findall(r"[A-Za-z][A-Za-z'-]{2,}", text)
