"""Read a file line by line and gather all that is wrong with it, so that it can be put right in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Self

from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord, csv_records, is_json_list, json_records
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
