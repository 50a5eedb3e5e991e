"""Read a file line by line, and the fields of a line by name; gather all that is wrong, to be put right in one go."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Self

from crosslens_metrics.formats.csv_records import csv_records
from crosslens_metrics.formats.names import image_name, readable_name
from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord, is_json_list, is_text, json_records
from crosslens_metrics.messages import gettext as _


class LineReader:
    """Gathers the problems of one file; leaving the block raises a `FileProblemsError` if there are any.

        with LineReader(path, suffixes=(".csv", ".jsonl")) as reader:
            for record in reader.records(column="image"):
                with reader.line(record):
                    take(record.value)  # a ValueError is a problem of this line

    `file` is None for what was pasted: messages then begin with the line.
    """

    def __init__(self, file: Path | str | None = None, *, suffixes: Sequence[str] = ()) -> None:
        self.file = file
        self.problems: list[LineError] = []
        self.is_list = False
        self._suffix = Path(file).suffix.lower() if file else ""
        if suffixes and self._suffix not in suffixes:
            text = _("The name of the file must end in one of %(suffixes)s. Rename it.")
            raise FileProblemsError([LineError(text % {"suffixes": ", ".join(suffixes)})], file)

    @property
    def is_csv(self) -> bool:
        return self._suffix == ".csv"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileProblemsError) or not isinstance(error, LineError | FileRefusedError | OSError | None):
            return
        if isinstance(error, LineError):
            self.problems.append(error)
        elif isinstance(error, OSError):
            self.refuse(_("The file cannot be read: %(error)s.") % {"error": error.strerror})
        elif error is not None:
            self.refuse(str(error))
        if self.problems:
            raise FileProblemsError(self.problems, self.file, is_list=self.is_list) from error

    def refuse(self, reason: str, *, number: int = 0, place: str = "") -> None:
        self.problems.append(LineError(reason, number=number, place=place))

    def records(
        self, file: IO[bytes] | None = None, *, column: str = "", is_csv: bool | None = None, keeps_case: bool = False
    ) -> Iterator[LineRecord]:
        """The lines that can be read, those of a CSV file if its name says so; `column` is one that it must have."""
        if file is None:
            assert self.file is not None
            with Path(self.file).open("rb") as opened:
                yield from self.records(opened, column=column, is_csv=is_csv, keeps_case=keeps_case)
            return
        is_csv = self.is_csv if is_csv is None else is_csv
        self.is_list = not is_csv and is_json_list(file)
        records = csv_records(file, column=column, keeps_case=keeps_case) if is_csv else json_records(file)
        yield from self.whole(records)

    def whole(self, records: Iterable[LineRecord | LineError]) -> Iterator[LineRecord]:
        for record in records:
            if isinstance(record, LineError):
                self.problems.append(record)
            else:
                yield record

    def line(self, record: LineRecord | int, *, place: str = "") -> _LineBlock:
        """A block in which every ValueError is a problem of this line."""
        return _LineBlock(self, record if isinstance(record, int) else record.number, place)


class _LineBlock:
    def __init__(self, reader: LineReader, number: int, place: str) -> None:
        self._reader, self._number, self._place = reader, number, place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, ValueError):
            return False
        self._reader.refuse(str(error), number=self._number, place=self._place)
        return True


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
