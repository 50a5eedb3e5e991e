"""Files of keys of images: a key a line, or CSV with a column `key`."""

from __future__ import annotations

import csv
from io import StringIO

from django.utils.translation import gettext as _

COLUMN = "key"


class KeyFileError(ValueError):
    """A file that cannot be read; the message says why."""


def read_keys(data: bytes) -> list[str]:
    """Return the key of each line, empty where a line has none: the first item is that of line 1.

    Raises KeyFileError if the file is not UTF-8, or CSV that cannot be read.
    """
    try:
        return keys_in(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise KeyFileError(_("This is not a text file in UTF-8.")) from error


def keys_in(text: str) -> list[str]:
    """As `read_keys`, of text."""
    lines = text.splitlines()
    try:
        columns = [name.strip().lower() for name in next(csv.reader(lines[:1]), [])]
        return _of_column(text, columns.index(COLUMN)) if COLUMN in columns else lines
    except csv.Error as error:
        raise KeyFileError(_("This is not a CSV file: a quotation mark has no counterpart.")) from error


def _of_column(text: str, column: int) -> list[str]:
    keys: list[str] = []
    reader = csv.reader(StringIO(text, newline=""))
    for row in reader:
        # The key of a row with several lines counts as that of the last.
        keys += [""] * (reader.line_num - len(keys) - 1)
        keys.append(row[column] if len(row) > column else "")
    keys[0] = ""
    return keys
