"""List the files of an import: from a folder, a manifest or an archive."""

from __future__ import annotations

import json
import os
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.images.rules import limits, manifests
from core.images.rules.archives import contents_of, is_hidden, open_zip
from core.images.rules.attributions import FIELDS
from core.images.rules.image_checks import ImageRefusedError
from core.images.rules.manifests import ImageAttribution, ManifestLine
from core.images.services.collections import keys_of
from crosslens_metrics.formats.manifests import (
    METADATA,
    chosen_manifest,
    files_beside,
    is_manifest,
    manifest_records,
    may_be_manifest,
)
from crosslens_metrics.formats.names import SUFFIXES, normalised_name
from crosslens_metrics.formats.opening import plain_text
from crosslens_metrics.formats.parts import SHARD_SUFFIXES, TAR_SUFFIXES, tar_members
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord, is_text

KEPT_IN_MEMORY_BYTES = 4 * limits.MEGABYTE
UNPACKING_FAILED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
MAX_BESIDE_BYTES = limits.MEGABYTE


@dataclass(frozen=True)
class SourceFile:
    """A file that can be opened, seekable and read-only; `size_bytes` is what its source claims."""

    size_bytes: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True)
class ImportEntry:
    """One file to import. The same source gives the same numbers each time, so that an import can be resumed.

    `keys` are those that it may have in the collection, of which it gets the first that is free. `beside` is what
    img2dataset or a shard says about it, or Hugging Face's metadata do.
    """

    number: int
    name: str
    content: SourceFile
    attribution: ImageAttribution
    keys: tuple[str, ...] = ()
    beside: SourceFile | None = None


@dataclass
class SourceFiles:
    """Files by name, in order, and those left out, as (name, reason)."""

    files: dict[str, SourceFile]
    problems: list[LineError]


def plan_of_path(path: Path, stack: ExitStack, said: Mapping[str, str] | None = None) -> list[ImportEntry | LineError]:
    """List the entries of a local folder, manifest or zip; `stack` closes what has to stay open.

    `said` are names of columns of a manifest by what they hold.

    Raises FileRefusedError where nothing can be imported from it.
    """
    if path.is_dir():
        folder = _folder(path)
        return _with_keys(_plan(folder, _manifest_in(folder, said), said=said))
    if not path.is_file():
        raise FileRefusedError(_("There is no file or folder “%(path)s”.") % {"path": path})
    if path.suffix.lower() == ".zip":
        source = _zip(stack.enter_context(path.open("rb")), stack)
        return _with_keys(_plan(source, _manifest_in(source, said), said=said))
    if may_be_manifest(path.name):
        return _with_keys(_plan_of_manifest(path, said))
    if path.name.lower().endswith(TAR_SUFFIXES):
        return _with_keys(_plan(_tar(path, stack), None))
    if path.name.lower().endswith(SUFFIXES):
        return _with_keys(_plan(SourceFiles({normalised_name(path.name): _on_disk(path)}, []), None))
    if _is_manifest(_on_disk(path), said):
        return _with_keys(_plan_of_manifest(path, said))
    text = _("“%(path)s” is not an image, a folder, a zip or tar file, or a manifest (.csv, .jsonl or .json).")
    raise FileRefusedError(text % {"path": path})


def _with_keys(plan: list[ImportEntry | LineError]) -> list[ImportEntry | LineError]:
    keys = keys_of(item.name for item in plan if isinstance(item, ImportEntry))
    return [
        replace(item, keys=(item.attribution.key,) if item.attribution.key else keys[item.name])
        if isinstance(item, ImportEntry)
        else item
        for item in plan
    ]


class SaidBeside(NamedTuple):
    """What lies beside an image says: the address that img2dataset fetched it from, "" if none, and its attribution.

    `left_out` are the fields of it that cannot be kept.
    """

    address: str
    attribution: ImageAttribution
    left_out: Sequence[str] = ()


def said_beside(entry: ImportEntry) -> SaidBeside:
    if entry.beside is None:
        return SaidBeside("", entry.attribution)
    try:
        with entry.beside.open() as file:
            about = json.loads(file.read(MAX_BESIDE_BYTES))
    except (*UNPACKING_FAILED, OSError):
        about = None
    if not isinstance(about, dict):
        return SaidBeside("", entry.attribution)
    address = about.get("url")
    if not isinstance(address, str) or not is_text(address) or not address.isprintable():
        address = ""
    return SaidBeside(address, *_attribution_in(about))


def _attribution_in(about: Mapping[str, Any]) -> tuple[ImageAttribution, list[str]]:
    """Whose the image is and under which licence, and the fields that cannot be kept, as it is no manifest.

    A number is no licence: in COCO it is the place of one in a list that is elsewhere.
    """
    said = {manifests.ALIASES.get(name, name): value for name, value in about.items() if value}
    said = {name: said[name] for name in FIELDS if name in said}
    kept: dict[str, Any] = {}
    for name, value in said.items():
        with suppress(LineError):
            manifests.attribution_of({name: value})
            if isinstance(value, str) or name != "licence":
                kept[name] = value
    return manifests.attribution_of(kept), [name for name in said if name not in kept]


def spooled_file(content: SourceFile) -> tempfile.SpooledTemporaryFile[bytes]:
    """Copy the content, cut off at the size limit of images, whatever its source claims."""
    copy: tempfile.SpooledTemporaryFile[bytes] = tempfile.SpooledTemporaryFile(max_size=KEPT_IN_MEMORY_BYTES)  # noqa: SIM115
    try:
        with content.open() as file:
            while (chunk := file.read(1 << 20)) and copy.tell() <= limits.MAX_IMAGE_BYTES:
                copy.write(chunk)
    except UNPACKING_FAILED as error:
        copy.close()
        raise ImageRefusedError(
            _("It cannot be unpacked because the zip file is broken. Make the zip file again.")
        ) from error
    except OSError as error:
        copy.close()
        raise ImageRefusedError(_("It cannot be read (%(error)s).") % {"error": error.strerror or error}) from error
    return copy


def _plan(
    source: SourceFiles, named: str | None, after: int = 0, said: Mapping[str, str] | None = None
) -> list[ImportEntry | LineError]:
    plan: list[ImportEntry | LineError] = []
    number = after
    if named is None:
        beside, (tables, lines) = files_beside(source.files), _lines_beside(source, said)
        left_out = {*beside.values(), *tables}
        names = [name for name in source.files if name not in left_out]
        for number, name in enumerate(names, start=after + 1):
            about = source.files[beside[name]] if name in beside else lines.get(name)
            plan.append(ImportEntry(number, name, source.files[name], ImageAttribution(), beside=about))
    else:
        plan = _lines(
            source.files[named], source.files.get, base=str(PurePosixPath(named).parent), after=after, said=said
        )
        number = plan[-1].number if plan else after
        listed = {item.name for item in plan} | {named}
        for name in source.files:
            if name not in listed:
                number += 1
                reason = _("The manifest does not name this file. Add a line for it, or import without the manifest.")
                plan.append(LineError(reason, name, number=number))
    for position, problem in enumerate(source.problems, start=number + 1):
        problem.number = position
    return [*plan, *source.problems]


def _lines_beside(source: SourceFiles, said: Mapping[str, str] | None) -> tuple[set[str], dict[str, SourceFile]]:
    """Find what Hugging Face's metadata say of images besides their captions: their names, and this by image."""
    tables: set[str] = set()
    found: dict[str, SourceFile] = {}
    for name in source.files:
        home, _slash, last = name.rpartition("/")
        if last.lower() not in METADATA:
            continue
        refused = (FileRefusedError, *UNPACKING_FAILED, OSError)
        with suppress(*refused), source.files[name].open() as packed, plain_text(packed) as file:
            for record in manifest_records(file, said):
                value = record.value if isinstance(record, LineRecord) else None
                image = value.get("file_name") if isinstance(value, dict) else None
                if isinstance(value, dict) and isinstance(image, str):
                    found[f"{home}/{image}" if home else image] = _as_file(value)
                    tables.add(name)
    return tables, found


def _as_file(value: Mapping[str, Any]) -> SourceFile:
    about = {name: of for name, of in value.items() if manifests.ALIASES.get(name, name) in FIELDS}
    content = json.dumps(about).encode()
    return SourceFile(len(content), lambda: BytesIO(content))


def _lines(
    manifest: SourceFile,
    find: Callable[[str], SourceFile | None],
    *,
    base: str = ".",
    after: int = 0,
    said: Mapping[str, str] | None,
) -> list[ImportEntry | LineError]:
    plan: list[ImportEntry | LineError] = []
    try:
        with manifest.open() as packed, plain_text(packed) as file:
            size_bytes = max(manifest.size_bytes, file.seek(0, os.SEEK_END))
            for line in manifests.lines_of(file, size_bytes=size_bytes, said=said):
                plan.append(_line(line, find, base=base, after=after))  # noqa: PERF401
    except (*UNPACKING_FAILED, OSError) as error:
        raise FileRefusedError(
            _("The manifest cannot be read because the zip file is broken. Make the zip file again.")
        ) from error
    return plan


def _line(
    line: ManifestLine | LineError, find: Callable[[str], SourceFile | None], *, base: str, after: int
) -> ImportEntry | LineError:
    number, where = after + line.number, _("line %(number)s of the manifest") % {"number": line.number}
    if isinstance(line, LineError):
        return LineError(f"{where}: {line.reason}", line.name or where, number=number)
    path = line.file if base == "." else f"{base}/{line.file}"
    content = find(path)
    if content is None:
        reason = _("There is no such file next to the manifest.")
        return LineError(f"{where}: {reason}", path, number=number)
    return ImportEntry(number, path, content, line.attribution)


def _plan_of_manifest(path: Path, said: Mapping[str, str] | None) -> list[ImportEntry | LineError]:
    home = path.parent.resolve()

    @cache
    def spelt_otherwise() -> dict[str, Path]:
        return {normalised_name(one.relative_to(home).as_posix()): one for one in _walk(home)}

    def find(name: str) -> SourceFile | None:
        found = _within(home, home / name)
        if found is None and name in spelt_otherwise():
            found = _within(home, spelt_otherwise()[name])
        return found

    return _lines(_on_disk(path), find, said=said)


def _folder(path: Path) -> SourceFiles:
    home = path.resolve()
    source = SourceFiles({}, [])
    hidden = 0
    for entry_path in _walk(home):
        name = normalised_name(entry_path.relative_to(home).as_posix())
        if is_hidden(name):
            hidden += 1
        elif (content := _within(home, entry_path)) is None:
            source.problems.append(LineError(_("This is a link that leads out of the folder, or not a file."), name))
        elif name in source.files:
            reason = _("The folder has another file with the same name, which was imported instead.")
            source.problems.append(LineError(reason, name))
        else:
            source.files[name] = content
    _report_hidden(source, hidden)
    return source


def _within(home: Path, path: Path) -> SourceFile | None:
    """Resolve the file at `path`, or return None if it is none or leads out of `home`."""
    try:
        resolved = path.resolve()
        return _on_disk(resolved) if resolved.is_relative_to(home) and resolved.is_file() else None
    except (OSError, ValueError, RuntimeError):
        # A link that leads to itself, a folder that may not be entered, a name with a NUL.
        return None


def _walk(home: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(home):
        folders.sort()
        # A link to a folder is not followed, and is one thing that is left out.
        links = [name for name in folders if Path(parent, name).is_symlink()]
        for name in sorted(names + links):
            yield Path(parent, name)


def _zip(file: IO[bytes], stack: ExitStack) -> SourceFiles:
    archive = stack.enter_context(open_zip(file))
    contents = contents_of(archive)
    source = SourceFiles(
        {name: _packed(archive, entry) for name, entry in contents.files.items()},
        [LineError(reason, name) for name, reason in contents.refused],
    )
    _report_hidden(source, contents.hidden)
    return source


def _tar(path: Path, stack: ExitStack) -> SourceFiles:
    """The files of a shard of WebDataset; captions alone are of the next import."""
    source = SourceFiles({}, [])
    try:
        archive = stack.enter_context(tarfile.open(path))  # noqa: SIM115
        members = [member for member in tar_members(archive) if not is_hidden(member.name)]
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise FileRefusedError(_("This is not a tar file, or it is incomplete. Make it again.")) from error
    if len(members) > limits.MAX_ZIP_ENTRIES or sum(member.size for member in members) > limits.MAX_ZIP_BYTES:
        raise FileRefusedError(_("The tar file has too many files, or they are too large. Split it into several."))
    for member in members:
        source.files[normalised_name(member.name)] = SourceFile(member.size, partial(_of_tar, archive, member))
    about = set(files_beside(source.files).values())
    for name in [name for name in source.files if name.lower().endswith(SHARD_SUFFIXES) and name not in about]:
        del source.files[name]
    return source


@contextmanager
def _of_tar(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[IO[bytes]]:
    file = archive.extractfile(member)
    assert file is not None  # it is a file
    with file:
        yield file


def _report_hidden(source: SourceFiles, count: int) -> None:
    if count:
        name = ngettext("%(count)s hidden file", "%(count)s hidden files", count) % {"count": count}
        reason = _("Left out: files of an operating system, for example __MACOSX or .DS_Store.")
        source.problems.append(LineError(reason, name, captions=count))


def _manifest_in(source: SourceFiles, said: Mapping[str, str] | None = None) -> str | None:
    """Raises FileRefusedError where there are several."""
    files = source.files
    return chosen_manifest(files, among=files, is_one=lambda name: _is_manifest(files[name], said))


def _is_manifest(content: SourceFile, said: Mapping[str, str] | None) -> bool:
    try:
        with content.open() as packed, plain_text(packed) as file:
            return is_manifest(file) or is_manifest(file, said)
    except (FileRefusedError, *UNPACKING_FAILED, OSError):
        return False


def _on_disk(path: Path) -> SourceFile:
    return SourceFile(path.stat().st_size, lambda: path.open("rb"))


def _packed(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> SourceFile:
    @contextmanager
    def unpacked() -> Iterator[IO[bytes]]:
        with archive.open(entry) as file:
            yield file

    return SourceFile(entry.file_size, unpacked)
