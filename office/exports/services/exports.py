"""The one export: a table of a project in a format, written in pieces while people go on working."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from tempfile import TemporaryFile

from django.utils.translation import gettext as _

from annotation.services.releases import name_of
from core.people.models import User
from core.people.services import audit_log
from office.exports.formats import captions, images, releases, tables
from office.exports.selectors.moments import one_moment
from office.exports.selectors.tables import (
    RELEASE,
    TABLES,
    ExportError,
    ExportTable,
    ExportWish,
    check_filters,
    comparisons_of,
    table_of,
)
from sxs_eval.selectors.results import complete_images_of
from sxs_eval.services.comparisons import record_looks
from tabular.downloads import CSV_TYPE, JSON_LINES_TYPE, stamp

CAPTIONS, ARCHIVE = "captions", "archive"
"""What has formats of its own, and the format of a release."""
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
    "huggingface-images": images.as_image_folder,
    "huggingface-addresses": images.as_addresses,
    "webdataset": images.as_webdataset,
}
SUFFIXES = {
    "xm3600": "jsonl",
    "coco": "json",
    "label-studio": "json",
    "huggingface": "jsonl",
    "huggingface-images": "zip",
    "huggingface-addresses": "jsonl",
    "webdataset": "tar",
    ARCHIVE: "tar.gz",
}
TYPES = {
    "csv": CSV_TYPE,
    "jsonl": JSON_LINES_TYPE,
    "json": "application/json",
    "zip": "application/zip",
    "tar": "application/x-tar",
    "tar.gz": "application/gzip",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""By suffix."""
WHATS, FORMATS = (*TABLES, RELEASE), (*TABLE_FORMATS, *CAPTION_FORMATS, ARCHIVE)


class EmptyExportError(ExportError):
    """There is no row, and the format has nothing to show for that."""


@dataclass(frozen=True)
class ExportFile:
    name: str
    content_type: str
    pieces: Iterator[bytes]


BY_THEMSELVES = frozenset({"huggingface-images", "webdataset", ARCHIVE})
"""Formats that are of one moment by themselves: what they send is large, and is not written to a file before."""


def export(wish: ExportWish) -> Iterator[bytes]:
    """Return the file, piece by piece.

    Raises ExportError, ImageFilterError or SeasonNotClosedError: mostly before anything is written.
    """
    return _pieces(wish) if wish.format in BY_THEMSELVES else _at_one_moment(wish)


def _at_one_moment(wish: ExportWish) -> Iterator[bytes]:
    """Write the whole file before any of it is sent: who receives it slowly must keep no transaction open."""
    with TemporaryFile() as file:
        with one_moment():
            file.writelines(_pieces(wish))
        yield from tables.pieces_of(file)


def _pieces(wish: ExportWish) -> Iterator[bytes]:
    """Begin the file. A format that keeps the columns of an empty table has a first piece without any row."""
    pieces = _written(wish)
    first = next(pieces, None)
    if first is None:
        said = _("There is nothing to export. Choose other languages or images, or another table. CSV, Excel and "
            "Parquet can be empty.")  # fmt: skip
        raise EmptyExportError(said)
    return chain([first], pieces)


def _written(wish: ExportWish) -> Iterator[bytes]:
    check_filters(wish)
    known = (ARCHIVE,) if wish.what == RELEASE else TABLE_FORMATS
    if wish.format not in known and (wish.what != CAPTIONS or wish.format == ARCHIVE):
        of = RELEASE if wish.format == ARCHIVE else CAPTIONS
        about = {"format": wish.format, "of": of, "what": wish.what, "known": ", ".join(known)}
        raise ExportError(_("%(format)s is for %(of)s. Export %(what)s as one of: %(known)s.") % about)
    if wish.format in TABLE_FORMATS:
        return TABLE_FORMATS[wish.format](table_of(wish))
    return releases.as_archive(wish) if wish.what == RELEASE else CAPTION_FORMATS[wish.format](wish)


def export_for(wish: ExportWish, *, by: User, is_recorded: bool) -> ExportFile:
    """Return the file for somebody, and record that they have it.

    Raises ExportError, ImageFilterError or SeasonNotClosedError before anything is recorded or sent.
    """
    if wish.what == RELEASE:
        # The file and its name are of one release, whatever is made meanwhile.
        wish = replace(wish, release=str(releases.asked_release(wish).number))
    pieces = export(wish)
    first = next(pieces, b"")
    if is_recorded:
        if wish.what == "judgements":
            seen = comparisons_of(wish)
            record_looks(seen, complete_images_of(seen))
        about = f"{wish.what}, {wish.format}"
        audit_log.record(project=wish.project, action="data.exported", about=about, by=by, now=wish.until)
    suffix = SUFFIXES.get(wish.format, wish.format)
    return ExportFile(f"{_name(wish)}.{suffix}", TYPES[suffix], chain([first], pieces))


def _name(wish: ExportWish) -> str:
    if wish.what == RELEASE:
        return name_of(releases.asked_release(wish))
    layout = wish.format if wish.format in CAPTION_FORMATS else ""
    parts = (wish.project.slug, wish.what, str(wish.comparison or ""), wish.season, layout)
    return f"{'-'.join(filter(None, parts))}{wish.images.in_file_names()}-{stamp(wish.until)}"
