"""Tables of other programs as records: Excel's and Parquet's."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from crosslens_metrics.formats import limits
from crosslens_metrics.formats.problems import FileRefusedError, LeftOutError, LineError
from crosslens_metrics.formats.records import LineRecord
from crosslens_metrics.messages import gettext as _

ROWS_AT_ONCE = 5_000


def parquet_records(file: IO[bytes]) -> Iterator[LineRecord | LineError]:
    """The rows of a Parquet file as dicts; of images in it only their names are read.

    Raises FileRefusedError where it cannot be read.
    """
    with _opened_parquet(file) as (table, images):
        columns = [f"{field.name}.path" if field.name in images else field.name for field in table.schema_arrow]
        number = 0
        for batch in table.iter_batches(ROWS_AT_ONCE, columns=columns):
            for value in batch.to_pylist():
                number += 1
                names = {name: (value[name] or {}).get("path") for name in images}
                yield LineRecord(number, {**value, **names})


def parquet_captions(file: IO[bytes]) -> Iterator[LineRecord | LineError]:
    """The rows as `parquet_records` reads them; a last one says which images are left out."""
    yield from parquet_records(file)
    yield from images_left_out(file)


def images_left_out(file: IO[bytes]) -> Iterator[LeftOutError]:
    """Say that the images of a Parquet file stay out of an import of its captions, if it has some."""
    with _opened_parquet(file) as (table, images):
        if count := max((_filled(table.metadata, f"{name}.bytes") for name in images), default=0):
            reason = _(
                "The images inside the Parquet file are not imported. Save them as a folder with a metadata.csv, "
                "and import that."
            )
            yield LeftOutError(reason, images[0], number=table.metadata.num_rows + 1, captions=count)


@contextmanager
def _opened_parquet(file: IO[bytes]) -> Iterator[tuple[Any, list[str]]]:
    """A Parquet file, and the names of its columns of images."""
    try:
        # 60 MB, which no reader of text needs.
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise FileRefusedError(
            _("Parquet files need the package pyarrow: install it, or save the file as CSV.")
        ) from error
    try:
        table = pyarrow.parquet.ParquetFile(file)
        yield table, [field.name for field in table.schema_arrow if _is_image(field.type)]
    except (pyarrow.ArrowException, OSError) as error:
        raise FileRefusedError(_("This is not a Parquet file, or it is incomplete. Make it again.")) from error


def _filled(about: Any, column: str) -> int:
    """How many rows have something in a column, going by what the file says of its pieces."""
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    pieces = [group.column(place) for group in groups for place in range(group.num_columns)]
    return sum(
        piece.num_values - (piece.statistics.null_count or 0 if piece.statistics else 0)
        for piece in pieces
        if piece.path_in_schema == column
    )


def _is_image(kind: Any) -> bool:
    """Whether a column holds images with their names, as the library datasets writes them."""
    import pyarrow.types

    return bool(pyarrow.types.is_struct(kind)) and {"bytes", "path"} <= {field.name for field in kind}


def excel_records(file: IO[bytes]) -> Iterator[LineRecord | LineError]:
    """The rows of the first sheet of an Excel file as dicts; the first row names the columns.

    Raises FileRefusedError where it cannot be read.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise FileRefusedError(
            _("Excel files need the package openpyxl: install it, or save the file as CSV.")
        ) from error
    try:
        _check_size(file)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        # Programs write sizes that are wrong.
        sheet.reset_dimensions()
        rows = sheet.iter_rows(values_only=True)
        header = ["" if cell is None else str(cell).strip() for cell in next(rows, ())]
        if twice := next((name for name in header if name and header.count(name) > 1), ""):
            raise FileRefusedError(_("The first line names the column “%(name)s” twice.") % {"name": twice})
        number = 1
        for number, cells in enumerate(rows, start=2):
            value = {name: cell for name, cell in zip(header, cells, strict=False) if name}
            if any(cell not in (None, "") for cell in value.values()):
                yield LineRecord(number, value)
        if len(book.worksheets) > 1:
            reason = _(
                "Of %(count)s sheets only the first, “%(name)s”, is read. Save the others as files of their own."
            )
            yield LineError(reason % {"count": len(book.worksheets), "name": sheet.title}, number=number + 1)
    except (zipfile.BadZipFile, zlib.error, SyntaxError, KeyError, IndexError, ValueError, OSError, EOFError) as error:
        raise FileRefusedError(_("This is not an Excel file (.xlsx), or it is incomplete. Save it again.")) from error


def _check_size(file: IO[bytes]) -> None:
    packed_bytes = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        unpacked_bytes = sum(entry.file_size for entry in archive.infolist())
    file.seek(0)
    if unpacked_bytes > limits.most_unpacked_bytes(packed_bytes):
        reason = _("The file would unpack to more than %(limit)s times its size.")
        raise FileRefusedError(reason % {"limit": limits.MAX_TEXT_RATIO})
