"""Read a manifest of images: the sense that each shows, its file, and who made it under which licence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from crosslens_metrics.formats.lines import LineFields
from crosslens_metrics.formats.names import ImageNames, without_suffix
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord, csv_records, json_records
from crosslens_metrics.messages import gettext as _
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.sentences import opened

MAX_CHARACTERS = {
    "synset": 100,
    "file": 500,
    "licence": 200,
    "licence_url": 500,
    "author": 500,
    "source": 1000,
    "title": 500,
}
ALIASES = {"license": "licence", "license_url": "licence_url"}
EXAMPLE = '{"synset": "02077923-n", "file": "seal.jpg", "licence": "CC BY 4.0", "author": "…", "source": "…"}'
NO_LICENCE = {"", "-", "?", "all rights reserved", "copyrighted", "n/a", "none", "unknown"}
"""What people write where an image has no open licence."""

IMAGE_NETS = re.compile(r"([nvars])(\d{8})")
OFFSET = re.compile(r"(\d{8})-([nvars])")
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".gif"}


@dataclass(frozen=True)
class ImageLine:
    """An image of a sense. `file` is where it was found in the folder of images, `named` what the manifest says."""

    line: int
    synset: str
    file: str
    named: str
    licence: str
    licence_url: str
    author: str
    source: str
    title: str


@dataclass
class ImageManifest:
    """Reads a manifest; `excluded` counts the images that were excluded.

    Without a folder, nothing tells whether files exist. A line without a file is of all images in its sense's folder.
    """

    path: Path
    name: str
    folder: Path | None
    exclude: frozenset[str]
    problems: LineProblems
    excluded: int = field(default=0, init=False)
    names_in: dict[str, ImageNames[None]] = field(default_factory=dict, init=False)

    def lines(self) -> Iterator[ImageLine]:
        """Give the images that can be used.

        Raises
        ------
        CorpusError
            Where the manifest as a whole cannot be read.
        """
        for number, fields in self._records():
            try:
                yield from self._images(number, fields)
            except _UnusableError as error:
                self.problems.add(error.kind, str(error), file=self.name, line=number)
            except LineError as error:
                self.problems.add("bad_line", error.reason, file=self.name, line=number)

    def _records(self) -> Iterator[tuple[int, LineFields]]:
        is_csv = self.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
        records = partial(csv_records, column="synset") if is_csv else json_records
        try:
            with opened(self.path, self.name) as file:
                for record in records(file):
                    try:
                        if isinstance(record, LineError):
                            raise record
                        yield record.number, _fields(record, is_csv=is_csv)
                    except LineError as error:
                        self.problems.add("bad_line", error.reason, file=self.name, line=record.number)
        except FileRefusedError as error:
            raise CorpusError(f"{self.name}: {error}") from error

    def _images(self, number: int, fields: LineFields) -> Iterator[ImageLine]:
        values = {name: fields.text(name, longest=longest) for name, longest in MAX_CHARACTERS.items()}
        synset, named = synset_of(values.pop("synset")), values.pop("file").replace("\\", "/")
        if not synset:
            raise LineError(_("synset is empty. Fill it in."))
        if values["licence"].casefold().strip(" .") in NO_LICENCE:
            raise _UnusableError("no_licence", _("The image has no licence. Name the open licence that it is under."))
        if values["licence_url"] and not is_address(values["licence_url"]):
            values["licence_url"] = ""
            message = _("licence_url must start with https:// or http://. The image is used without it.")
            self.problems.add("bad_licence_url", message, file=self.name, line=number)
        for file in self._files(synset, named):
            if self.exclude & {file, named or file}:
                self.excluded += 1
                continue
            yield ImageLine(line=number, synset=synset, file=file, named=named or file, **values)

    def _files(self, synset: str, named: str) -> list[str]:
        if named and (".." in PurePosixPath(named).parts or named.startswith("/") or ":" in named.split("/")[0]):
            raise LineError(_("file must be a name inside the folder of images."))
        if self.folder is None:
            if not named:
                raise LineError(_("file is empty. Fill it in."))
            return [named]
        tops = folders_of(synset)
        if named:
            files = (named, *(f"{top}/{named}" for top in tops))
            for file in files:
                if os.path.isfile(self.folder / file):  # noqa: PTH113 - that of a path fails if the name is too long
                    return [file]
            for file in files:
                parent, slash, name = file.rpartition("/")
                found = self._names_in(parent).find(name)
                if len(found) == 1:
                    return [f"{parent}{slash}{found[0]}"]
            message = _("There is no file “%(file)s” in the folder of images.") % {"file": named}
            raise _UnusableError("missing_file", message)
        for top in tops:
            if (self.folder / top).is_dir():
                found = sorted(each.name for each in (self.folder / top).iterdir() if each.suffix.lower() in SUFFIXES)
                return [f"{top}/{name}" for name in found]
        message = _("The line names no file, and the folder of images has no folder “%(name)s”.") % {"name": tops[0]}
        raise _UnusableError("missing_file", message)

    def _names_in(self, parent: str) -> ImageNames[None]:
        """The images in one folder; looked through only if some name is not spelt as its file is."""
        assert self.folder is not None
        if parent not in self.names_in:
            try:
                names = [one for one in os.listdir(self.folder / parent) if without_suffix(one) != one]  # noqa: PTH208
            except OSError:
                names = []
            self.names_in[parent] = ImageNames(dict.fromkeys(names))
        return self.names_in[parent]


def is_address(value: str) -> bool:
    """Return whether a text is an address of the web, as the Gap Filling Game needs for licences."""
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in value
    except ValueError:
        return False


def synset_of(name: str) -> str:
    """Bring the id of a synset into the form of inventories: ImageNet's n02077923 is 02077923-n, others stay."""
    match = IMAGE_NETS.fullmatch(name)
    return f"{match[2]}-{match[1]}" if match else name


def folders_of(synset: str) -> list[str]:
    """Return the names that a folder with images of a synset may have, ImageNet's first."""
    match = OFFSET.fullmatch(synset)
    return [f"{match[2]}{match[1]}", synset] if match else [synset.replace(":", "_").replace("/", "_")]


def _fields(record: LineRecord, *, is_csv: bool) -> LineFields:
    values: Any = record.value
    if isinstance(values, dict):
        values = {ALIASES.get(name, name): value for name, value in values.items()}
    return LineFields(values, example=EXAMPLE, is_csv=is_csv)


class _UnusableError(ValueError):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
