"""Tables about images: which of the files beside images they are, and their lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import IO

from crosslens_metrics.formats.any_table import table_records
from crosslens_metrics.formats.layouts import layout_of
from crosslens_metrics.formats.names import image_name
from crosslens_metrics.formats.object_rows import Records
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.records import LineRecord
from crosslens_metrics.formats.table_parts import PARTS, FileKind, converted_fields, renamed
from crosslens_metrics.messages import gettext as _

NAMES = ("manifest.csv", "manifest.jsonl", "manifest.json")
"""What is called so is a manifest, whatever else is one."""
FETCHED_SUFFIXES = (".jpg", ".png", ".webp")
"""Of the images that img2dataset writes; beside each lies NAME.json with the address that it was fetched from."""
METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
"""What Hugging Face calls tables about the images beside them, in each folder of splits."""
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx")
COLUMNS = ("file", "file_name")
"""One of which names the file of an image."""


def may_be_manifest(name: str) -> bool:
    return name.lower().removesuffix(".gz").endswith(SUFFIXES)


def is_manifest(file: IO[bytes], said: Mapping[str, str] | None = None) -> bool:
    """Whether a file is a table about images without captions; `said` are names of columns by what they hold."""
    try:
        return layout_of(file, said=said).kind == FileKind.IMAGES
    except FileRefusedError:
        return False


def chosen_manifest(names: Iterable[str], *, among: Collection[str], is_one: Callable[[str], bool]) -> str | None:
    """Choose the manifest of a folder or an archive from `names`, those of its files that can be opened.

    It is what is called so, or else the one table about images; at the top, or else in the only folder. `among` has the
    names of all files, and `is_one` tells of a table whether it is about images. Preview and import both ask here.
    Raises FileRefusedError where there are several.
    """
    listed = list(names)
    chosen = _nearest((name for name in listed if name.rpartition("/")[2].lower() in NAMES), among)
    if not chosen:
        about = set(files_beside(among).values())
        tables = (name for name in listed if may_be_manifest(name) and name not in about)
        chosen = [name for name in _nearest(tables, among) if is_one(name)]
    if len(chosen) > 1:
        text = _("There are %(count)s manifests: %(names)s. Keep one.")
        raise FileRefusedError(text % {"count": len(chosen), "names": ", ".join(sorted(chosen))})
    return chosen[0] if chosen else None


def files_beside(names: Collection[str]) -> dict[str, str]:
    """Find the names of the files of JSON about images, by the names of these."""
    named = {name: f"{name.rpartition('.')[0]}.json" for name in names if name.endswith(FETCHED_SUFFIXES)}
    return {name: beside for name, beside in named.items() if beside in names}


def _nearest(names: Iterable[str], among: Collection[str]) -> list[str]:
    """The names at the top, or else those in the only folder of all files."""
    listed = list(names)
    top = [name for name in listed if "/" not in name]
    first_parts = {name.partition("/")[0] for name in among}
    return top or ([name for name in listed if name.count("/") == 1] if len(first_parts) == 1 else [])


def images_named(file: IO[bytes], said: Mapping[str, str] | None = None) -> list[tuple[str, ...]]:
    """The images that a manifest names, each by its key, if it has one, and then by its file.

    Raises FileRefusedError where it names no file.
    """
    found: list[tuple[str, ...]] = []
    for record in manifest_records(file, said):
        value = record.value if isinstance(record, LineRecord) and isinstance(record.value, dict) else {}
        given = next((value[name] for name in COLUMNS if name in value), None)
        name = image_name(given) if isinstance(given, str) else None
        if name is not None:
            key = image_name(value.get("key"))
            found.append((key, name) if key else (name,))
    if not found:
        raise FileRefusedError(_("It names no files."))
    return found


def manifest_records(file: IO[bytes], said: Mapping[str, str] | None = None) -> Records:
    """The lines of a manifest in any form; columns of a table are in lower case, and those that were `said` as theirs.

    Raises FileRefusedError where a table has no column with the files.
    """
    mine = {part: column for part, column in (said or {}).items() if part in PARTS[FileKind.IMAGES]}
    read = partial(table_records, columns=(mine.get("file", "").strip().lower(), *COLUMNS))
    return converted_fields(read, partial(renamed, said=mine), file) if mine else table_records(file, COLUMNS)
