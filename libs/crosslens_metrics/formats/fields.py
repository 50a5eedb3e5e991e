"""Read the fields of one line by name; an error has the field's name and says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from crosslens_metrics.formats.names import image_name, readable_name
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.records import is_text
from crosslens_metrics.messages import gettext as _

MAX_CHARACTERS_SHOWN = 40
QUOTE = "'"
"""What programs put before a text that a spreadsheet would take for a formula."""
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")


class LineFields:
    """The fields of a line. Each method gives one of them, or raises a `LineError`; a missing field is as an empty one.

    `example` is what a line looks like, told where it is no object. In a CSV file an apostrophe in front is taken away.
    """

    def __init__(self, values: Any, *, example: str = "", is_csv: bool = False) -> None:
        if not isinstance(values, dict):
            raise LineError(_("Not an object. Write each line as %(example)s.") % {"example": example})
        self.values: Mapping[str, Any] = values
        self._is_csv = is_csv

    def text(
        self, name: str, *, needed: bool = False, longest: int = 0, numbers: bool = False, is_name: bool = False
    ) -> str:
        """A text without blanks around it.

        With `numbers`, numbers and truth values are taken as texts too. A name has no control characters and is in the
        spelling in which names are compared.
        """
        given = self.values.get(name)
        if isinstance(given, str):
            text = (given.removeprefix(QUOTE) if self._is_csv else given).strip()
            if not text.isprintable() and not (is_text(text) and not (is_name and CONTROLS.search(text))):
                raise LineError(_("%(column)s holds characters that are not valid.") % {"column": name})
        elif given is None:
            text = ""
        elif numbers and isinstance(given, bool | int | float):
            text = str(given).lower() if isinstance(given, bool) else str(given)
        else:
            wrong = _("%(column)s is neither text nor a number.") if numbers else _("%(column)s is not text.")
            raise LineError(wrong % {"column": name})
        if is_name:
            text = readable_name(text)
        if needed and not text:
            raise LineError(_("%(column)s is empty. Fill it in.") % {"column": name})
        if longest and len(text) > longest:
            raise LineError(
                _("%(name)s has %(length)s characters; at most %(limit)s are allowed.")
                % {"name": name, "length": len(text), "limit": longest}
            )
        return text

    def image(self, name: str = "image") -> str:
        """The name of an image."""
        return image_name(self.text(name, needed=True, numbers=True)) or ""

    def one_of(self, name: str, values: Collection[str], *, any_case: bool = False) -> str:
        """One of some words, which may be empty only if "" is among them; with `any_case` in small letters."""
        text = self.text(name, numbers=True)
        word = text.lower() if any_case else text
        if word not in values:
            raise LineError(
                _("%(column)s is “%(cell)s”. Give one of: %(values)s.")
                % {"column": name, "cell": text[:MAX_CHARACTERS_SHOWN], "values": ", ".join(filter(None, values))}
            )
        return word

    def whole(self, name: str) -> int:
        """A whole number from 0, of at most 9 digits."""
        text = self.text(name, numbers=True)
        if not (text.isascii() and text.isdigit() and len(text) <= 9):
            raise LineError(
                _("%(column)s is “%(cell)s”. Give a whole number.")
                % {"column": name, "cell": text[:MAX_CHARACTERS_SHOWN]}
            )
        return int(text)

    def flag(self, name: str) -> bool:
        given = self.values.get(name, False)
        if not isinstance(given, bool):
            raise LineError(_("%(column)s is neither true nor false.") % {"column": name})
        return given

    def list(self, name: str) -> list[Any]:
        given = self.values.get(name)
        if given is not None and not isinstance(given, list):
            raise LineError(_("%(column)s is not a list.") % {"column": name})
        return given or []

    def moment(self, name: str) -> datetime | None:
        text = self.text(name)
        try:
            moment = datetime.fromisoformat(text) if text else None
        except ValueError:
            moment = None
        if text and (moment is None or moment.tzinfo is None):
            raise LineError(
                _("%(column)s is “%(cell)s”. Give a time with its offset, such as 2026-01-31T12:00:00+00:00.")
                % {"column": name, "cell": text[:MAX_CHARACTERS_SHOWN]}
            )
        return moment
