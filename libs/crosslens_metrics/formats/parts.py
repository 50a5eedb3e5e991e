"""The files of text in folders and archives, and the names of the images beside them."""

from __future__ import annotations

import json
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from crosslens_metrics.formats import limits
from crosslens_metrics.formats.caption_rows import is_language
from crosslens_metrics.formats.names import SUFFIXES, image_name
from crosslens_metrics.formats.opening import KEPT_IN_MEMORY_BYTES, copy_limited, opened_text, plain_text
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.messages import gettext as _

ZIP_MAGIC, TAR_SUFFIXES = b"PK\x03\x04", (".tar", ".tar.gz", ".tgz")
SHARD_SUFFIXES = (".txt", ".caption", ".cap", ".json")
OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
TEXT_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".token", ".parquet", ".xlsx", ".gz")


@dataclass(frozen=True)
class FilePart:
    """A file, or one inside an archive. `opened` gives its bytes, seekable; `folder` is where it lies in there."""

    path: str
    opened: Callable[[], AbstractContextManager[IO[bytes]]]
    folder: str = ""


@dataclass
class FilesBeside:
    """What is no text: names of images, each with its key, and names of what is left out, by the reason."""

    image_names: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def put(self, given: str) -> None:
        name = image_name(given) or given
        lower = name.lower()
        if lower.endswith(SUFFIXES):
            self.image_names[name] = name
            return
        reason = (
            _("This is an archive inside another one or a folder. Unpack it, or import it by itself.")
            if lower.endswith((*TAR_SUFFIXES, ".zip", ".7z", ".rar"))
            else _("This is neither an image nor a file of captions, and is left out.")
        )
        self.left_out.setdefault(reason, []).append(name)


def parts_of(path: Path, beside: FilesBeside) -> Iterator[FilePart]:
    """The files of text that a file, a folder or an archive has; what else there is is put to `beside`.

    Raises FileRefusedError.
    """
    if path.is_dir():
        yield from _parts_of_folder(path, beside)
    elif not path.is_file():
        raise FileRefusedError(_("There is no file or folder “%(path)s”.") % {"path": path})
    elif path.name.lower().endswith(SUFFIXES):
        beside.put(path.name)
    elif path.name.lower().endswith(TAR_SUFFIXES):
        yield from _parts_of_tar(path, beside)
    elif _is_archive_of_files(path):
        yield from _parts_of_zip(path, beside)
    else:
        yield FilePart(str(path), partial(opened_text, path))


def container_of(path: Path) -> str:
    if path.is_dir():
        return _("folder of images")
    if path.name.lower().endswith(TAR_SUFFIXES):
        return "WebDataset"
    return _("image") if path.name.lower().endswith(SUFFIXES) else _("ZIP of images")


def _may_be_text(name: str) -> bool:
    """Whether a file in a folder or archive is looked at: by its suffix, which is a language in Multi30k."""
    lower = name.lower()
    if lower.endswith(TAR_SUFFIXES):
        return False
    return lower.endswith(TEXT_SUFFIXES) or "." not in name or is_language(name.rpartition(".")[2])


def _is_hidden(path: PurePosixPath) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)


def _parts_of_folder(path: Path, beside: FilesBeside) -> Iterator[FilePart]:
    for one in sorted(path.rglob("*")):
        name = PurePosixPath(one.relative_to(path).as_posix())
        if not one.is_file() or _is_hidden(name):
            continue
        if _may_be_text(one.name) and one.resolve().is_relative_to(path.resolve()):
            yield FilePart(str(one), partial(opened_text, one), _folder_of(name))
        else:
            beside.put(str(name))


def _folder_of(name: PurePosixPath) -> str:
    return (image_name(str(name)) or "").rpartition("/")[0]


def is_archive_of_arrays(file: IO[bytes]) -> bool:
    """Whether a zip is NumPy's (.npz)."""
    with suppress(zipfile.BadZipFile, ValueError, NotImplementedError), zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        return bool(names) and all(name.endswith(".npy") for name in names)
    return False


def _is_archive_of_files(path: Path) -> bool:
    """Whether it is a zip of files, and neither a workbook nor arrays, which are one too.

    Raises FileRefusedError where it is another document of an office program.
    """
    with path.open("rb") as file:
        if file.read(4) != ZIP_MAGIC or is_archive_of_arrays(file):
            return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            _refuse_documents(archive, names)
            return "[Content_Types].xml" not in names
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, RuntimeError) as error:
        raise FileRefusedError(_("This is not a zip file, or it is incomplete. Make it again.")) from error


def _refuse_documents(archive: zipfile.ZipFile, names: Sequence[str]) -> None:
    """Refuse by its name what is packed as a zip, although nobody means it as an archive."""
    kind = ""
    if "mimetype" in names:
        with archive.open("mimetype") as file:
            kind = file.read(100).decode("ascii", "replace").strip()
    if kind.startswith(OPEN_DOCUMENT):
        if kind == f"{OPEN_DOCUMENT}spreadsheet":
            raise FileRefusedError(_("This is an OpenDocument spreadsheet. Save it as Excel (.xlsx) or CSV."))
        raise FileRefusedError(_not_a_table())
    if "word/document.xml" in names or "ppt/presentation.xml" in names:
        raise FileRefusedError(_not_a_table())


def _not_a_table() -> str:
    return _("This is a text or a presentation of an office program. Save its table as Excel (.xlsx) or CSV.")


def _parts_of_zip(path: Path, beside: FilesBeside) -> Iterator[FilePart]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            name = PurePosixPath(entry.filename)
            if entry.is_dir() or _is_hidden(name):
                continue
            if _may_be_text(name.name):
                opened = partial(
                    _copied, partial(_member, path, entry), limits.most_unpacked_bytes(entry.compress_size)
                )
                yield FilePart(f"{path}/{entry.filename}", opened, _folder_of(name))
            else:
                beside.put(entry.filename)


def _member(path: Path, entry: zipfile.ZipInfo) -> AbstractContextManager[IO[bytes]]:
    @contextmanager
    def opened() -> Iterator[IO[bytes]]:
        with zipfile.ZipFile(path) as archive, archive.open(entry) as file:
            yield file

    return opened()


@contextmanager
def _copied(opened: Callable[[], AbstractContextManager[IO[bytes]]], most: int) -> Iterator[IO[bytes]]:
    """A seekable copy of what is packed, as text."""
    with tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY_BYTES) as copy:
        try:
            with opened() as file:
                copy_limited(file, copy, most=most)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            raise FileRefusedError(_("This is not a zip file, or it is incomplete. Make it again.")) from error
        with plain_text(copy) as text:
            yield text


def tar_members(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """The files of an archive.

    Raises tarfile.TarError also where it was cut off within a header, which Python takes for the end.
    """
    members = [member for member in archive if member.isfile()]
    assert archive.fileobj is not None
    archive.fileobj.seek(archive.offset)
    if archive.fileobj.read(tarfile.BLOCKSIZE).strip(b"\0"):
        raise tarfile.ReadError("cut off")
    return members


def _parts_of_tar(path: Path, beside: FilesBeside) -> Iterator[FilePart]:
    """WebDataset's shards: the files of one image are those whose names differ in the suffix."""
    try:
        with tarfile.open(path) as archive:
            names = [member.name for member in tar_members(archive)]
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise FileRefusedError(_("This is not a tar file, or it is incomplete. Make it again.")) from error
    names = [name for name in names if not _is_hidden(PurePosixPath(name))]
    for name in names:
        if not name.lower().endswith(SHARD_SUFFIXES):
            beside.put(name)
    if any(name.lower().endswith(SHARD_SUFFIXES) for name in names):
        yield FilePart(f"{path}/{_('captions')}", partial(_shard_as_lines, path))


@contextmanager
def _shard_as_lines(path: Path) -> Iterator[IO[bytes]]:
    """The captions of a shard as JSON Lines: of an image its file of text, or what its JSON says."""
    lines: dict[str, dict[str, Any]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            name, _dot, suffix = member.name.rpartition(".")
            is_json = suffix.lower() == "json"
            is_text = member.isfile() and f".{suffix.lower()}" in SHARD_SUFFIXES
            if not is_text or _is_hidden(PurePosixPath(member.name)) or (is_json and name in lines):
                continue
            packed = archive.extractfile(member)
            text = packed.read(limits.MAX_LINE_BYTES).decode("utf-8-sig", "replace") if packed else ""
            lines[name] = _shard_line(name, text, is_json=is_json)
    with tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY_BYTES) as file:
        file.writelines(json.dumps(line).encode() + b"\n" for line in lines.values())
        file.seek(0)
        yield file


def _shard_line(name: str, text: str, *, is_json: bool) -> dict[str, Any]:
    if not is_json:
        return {"image": name, "caption": text}
    with suppress(ValueError):
        value = json.loads(text)
        if isinstance(value, dict):
            return {**value, "image": name}
    return {"image": name, "caption": None}
