"""Every table as CSV, JSON Lines, Parquet or a workbook."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any

from django.utils.translation import gettext as _

from office.exports.selectors.tables import ExportError, ExportTable
from tabular.downloads import PIECE_BYTES, csv_lines, flat_value, in_pieces, json_line

ROWS_PER_GROUP = 4_000
MAX_SHEET_ROWS = 1_048_576
MAX_CELL_CHARACTERS = 32_767
"""Of Excel."""


def as_csv(table: ExportTable) -> Iterator[bytes]:
    return in_pieces(csv_lines(table.columns, table.rows))


def as_json_lines(table: ExportTable) -> Iterator[bytes]:
    rows = (map(_plain, row) for row in table.rows)
    return in_pieces(json_line(dict(zip(table.columns, row, strict=True))) for row in rows)


def as_parquet(table: ExportTable) -> Iterator[bytes]:
    """Write groups of rows as they come, and again once the type of every column is known."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.null()) for name in table.columns])
    with TemporaryFile() as groups, TemporaryFile() as file:
        places, stream_of_rows = [], iter(table.rows)
        while rows := list(islice(stream_of_rows, ROWS_PER_GROUP)):
            values = zip(*(map(_plain, row) for row in rows), strict=True)
            group = pa.table(dict(zip(table.columns, map(pa.array, map(list, values)), strict=True)))
            schema = pa.unify_schemas([schema, group.schema], promote_options="permissive")
            places.append(groups.tell())
            with pa.ipc.new_stream(groups, group.schema) as stream:
                stream.write_table(group)
        schema = pa.schema([(one.name, pa.string() if one.type == pa.null() else one.type) for one in schema])
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for place in places:
                groups.seek(place)
                writer.write_table(pa.ipc.open_stream(groups).read_all().cast(schema))
        yield from _pieces_of(file)


def as_workbook(table: ExportTable) -> Iterator[bytes]:
    """Write one sheet. Texts are texts, also where they begin like a formula.

    Raises
    ------
    ExportError
        Where it does not fit into a sheet: nothing is cut off.
    """
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet()
    with TemporaryFile() as file:
        try:
            sheet.append(list(table.columns))
            for number, row in enumerate(table.rows, start=2):
                _check_fits(number)
                sheet.append([_cell(sheet, value) for value in row])
        finally:
            # Saving also removes the files that the library keeps meanwhile.
            book.save(file)
        yield from _pieces_of(file)


def _check_fits(rows: int) -> None:
    if rows > MAX_SHEET_ROWS:
        said = _("A sheet of Excel has at most %(most)s rows. Export it as csv or parquet, or fewer languages.")
        raise ExportError(said % {"most": f"{MAX_SHEET_ROWS:,}"})


def _cell(sheet: Any, value: Any) -> Any:
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    value = flat_value(value)
    if not isinstance(value, str):
        return value
    if len(value) > MAX_CELL_CHARACTERS or ILLEGAL_CHARACTERS_RE.search(value):
        raise ExportError(
            _("“%(text)s…” is too long for Excel, or has control characters. Export it as csv or parquet.")
            % {"text": value[:40]}
        )
    cell = WriteOnlyCell(sheet, value)
    cell.data_type = "s"
    return cell


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE_BYTES):
        yield piece
