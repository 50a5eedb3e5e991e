"""The one export: a table of a project in a format, written in pieces while people go on working."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from django.utils.translation import gettext as _

from office.exports.formats import captions, tables
from office.exports.selectors.tables import TABLES, ExportError, ExportTable, ExportWish, table_of

CAPTIONS = "captions"
TABLE_FORMATS: Mapping[str, Callable[[ExportTable], Iterator[bytes]]] = {
    "csv": tables.as_csv,
    "jsonl": tables.as_json_lines,
    "parquet": tables.as_parquet,
    "xlsx": tables.as_workbook,
}
CAPTION_FORMATS: Mapping[str, Callable[[ExportWish], Iterator[bytes]]] = {
    "xm3600": captions.as_xm3600,
    "coco": captions.as_coco,
    "label-studio": captions.as_label_studio,
    "huggingface": captions.as_hugging_face,
}
WHATS, FORMATS = tuple(TABLES), (*TABLE_FORMATS, *CAPTION_FORMATS)


def export(wish: ExportWish, format: str) -> Iterator[bytes]:
    """Return the file, piece by piece.

    Raises
    ------
    ExportError, ImageFilterError, SeasonNotClosedError
        Mostly before anything is written.
    """
    if format in TABLE_FORMATS:
        return TABLE_FORMATS[format](table_of(wish))
    if wish.what != CAPTIONS:
        known = {"format": format, "what": wish.what, "known": ", ".join(TABLE_FORMATS)}
        raise ExportError(_("%(format)s is for captions. Export %(what)s as one of: %(known)s.") % known)
    return CAPTION_FORMATS[format](wish)
