"""Examples as a text in Markdown, to be translated: captions after >, what they must mention after =, and reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from core.people.rules.consent_parts import PartsError

_EXAMPLE = re.compile(r"^## *(\d+) *$", re.MULTILINE)


@dataclass(frozen=True)
class ExampleText:
    """The words of one example; `mentions` has a line for each thing."""

    captions: tuple[str, ...]
    mentions: str
    why: str


def as_text(examples: Iterable[ExampleText]) -> str:
    return "\n".join(f"## {number}\n\n{_of_one(example)}\n" for number, example in enumerate(examples, start=1))


def _of_one(example: ExampleText) -> str:
    captions = [f"> {' '.join(caption.split())}" for caption in example.captions]
    mentions = "\n".join(f"= {line.strip()}" for line in example.mentions.splitlines() if line.strip())
    return "\n\n".join(part for part in (*captions, mentions, example.why.strip()) if part)


def read_text(text: str) -> list[ExampleText]:
    """Read what `as_text` wrote, or a translation of it."""
    _before, *parts = _EXAMPLE.split(text.replace("\r\n", "\n"))
    return [_read_one(part) for part in parts[1::2]]


def _read_one(part: str) -> ExampleText:
    captions: list[str] = []
    mentions: list[str] = []
    lines = part.strip().split("\n")
    while lines and lines[0][:1] in {">", "=", ""}:
        line = lines.pop(0)
        said = {">": captions, "=": mentions}.get(line[:1])
        if said is not None and line[1:].strip():
            said.append(line[1:].strip())
    return ExampleText(tuple(captions), "\n".join(mentions), "\n".join(lines).strip())


def check_translation(original: str, body: str) -> None:
    """Raise PartsError unless the translation has as many examples, with as many captions in each."""
    wanted, found = ([len(one.captions) for one in read_text(text)] for text in (original, body))
    if wanted != found:
        raise PartsError(_("There must be as many lines with ## and with > as in the original, in the same order."))
