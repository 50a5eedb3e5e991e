"""Fields that are read line by line: settings by language, and options without a field of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from crosslens_metrics.formats.records import is_text

MAX_DEPTH = 16
MAX_NUMBER = 2**53
"""Up to here, every reader of JSON reads whole numbers exactly."""


class TagLinesField(forms.CharField):
    """A language per line, and its text after a colon: a mapping of our tags to texts.

    With `has_bare_tags` a tag may stand alone; the text is empty then.
    """

    def __init__(self, *, has_bare_tags: bool = False, rows: int = 3, **more: Any) -> None:
        attributes = {"rows": rows, "spellcheck": "false", "dir": "ltr"}
        # Blanks at the ends of the first and the last line may be part of a separator.
        super().__init__(required=False, strip=False, widget=forms.Textarea(attributes), **more)
        self.has_bare_tags = has_bare_tags

    def clean(self, value: Any) -> dict[str, str]:
        return self._read(super().clean(value))

    def _read(self, text: str) -> dict[str, str]:
        texts: dict[str, str] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            tag, colon, value = line.partition(":")
            tag, value = tag.strip(), value.removeprefix(" ")
            if not tag or (not value.strip() and (colon or not self.has_bare_tags)):
                raise ValidationError(
                    gettext("Line %(number)d is not like “de: …”: %(line)s"), params={"number": number, "line": line}
                )
            if tag in texts:
                raise ValidationError(gettext("%(tag)s is listed twice. Remove one."), params={"tag": tag})
            texts[tag] = value
        return texts


class JsonObjectField(forms.CharField):
    """A JSON object; empty input is an empty object."""

    def __init__(self, **more: Any) -> None:
        attributes = {"rows": 3, "spellcheck": "false", "dir": "ltr"}
        super().__init__(required=False, widget=forms.Textarea(attributes), **more)

    def clean(self, value: Any) -> dict[str, Any]:
        text = super().clean(value)
        if not text:
            return {}
        try:
            parsed = json.loads(text, parse_constant=_refused)
        except (ValueError, RecursionError) as error:
            raise ValidationError(gettext("This is not valid JSON: %(error)s"), params={"error": error}) from error
        if not isinstance(parsed, dict):
            raise ValidationError(
                gettext("Enter an object, for example %(example)s."), params={"example": '{"seed": 1}'}
            )
        if not _can_be_kept(parsed, deep=MAX_DEPTH):
            raise ValidationError(
                gettext(
                    "It cannot be stored: it has invalid characters, a number that is too large, or too many "
                    "nested levels."
                )
            )
        return parsed


def _refused(name: str) -> object:
    raise ValueError(name)


def _can_be_kept(value: object, *, deep: int) -> bool:
    """Whether every database can store it and every page can show it."""
    if isinstance(value, dict):
        return deep > 0 and all(is_text(key) and _can_be_kept(inner, deep=deep - 1) for key, inner in value.items())
    if isinstance(value, list):
        return deep > 0 and all(_can_be_kept(inner, deep=deep - 1) for inner in value)
    if isinstance(value, str):
        return is_text(value)
    if isinstance(value, float):
        return isfinite(value)
    return not isinstance(value, int) or abs(value) <= MAX_NUMBER


def languages_option(lines: Mapping[str, str]) -> list[str] | dict[str, str]:
    """Build the option `languages`; only tags if the model has no codes of its own."""
    return {tag: code or tag for tag, code in lines.items()} if any(lines.values()) else list(lines)
