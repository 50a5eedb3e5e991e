"""Files of keys of images: a key a line, or a table with a column `key`."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from typing import IO

from django.utils.translation import gettext as _

from crosslens_metrics.formats.any_table import table_records
from crosslens_metrics.formats.csv_records import csv_columns
from crosslens_metrics.formats.opening import plain_text
from crosslens_metrics.formats.parts import ZIP_MAGIC
from crosslens_metrics.formats.problems import FileRefusedError, LineError

COLUMN = "key"


class KeyFileError(ValueError):
    """A file that cannot be read; the message says why."""


def read_keys(data: bytes) -> list[str]:
    """Return the key of each line, empty where a line has none: the first item is that of line 1.

    Raises KeyFileError if it is neither text in UTF-8 nor a table that can be read.
    """
    try:
        with plain_text(BytesIO(data)) as file:
            if data.startswith((b"PAR1", ZIP_MAGIC)) or _is_table(file):
                return _of_column(file)
            file.seek(0)
            return file.read().decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise KeyFileError(_("This is not a text file in UTF-8.")) from error
    except LineError as error:
        raise KeyFileError(error.described()) from error
    except FileRefusedError as error:
        raise KeyFileError(str(error)) from error


def _is_table(file: IO[bytes]) -> bool:
    with suppress(FileRefusedError):
        return COLUMN in csv_columns(file)
    return False


def _of_column(file: IO[bytes]) -> list[str]:
    keys: list[str] = []
    for record in table_records(file, [COLUMN]):
        if isinstance(record, LineError):
            raise record
        value = {name.strip().lower(): of for name, of in record.value.items()}
        keys += [""] * (record.number - len(keys) - 1)
        keys.append("" if value.get(COLUMN) is None else str(value[COLUMN]))
    return keys
