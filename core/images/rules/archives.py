"""Read a zip without trusting it."""

from __future__ import annotations

import stat
import struct
import zipfile
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import IO

from django.utils.translation import gettext as _

from core.images.rules import limits
from core.images.rules.manifests import path_inside
from crosslens_metrics.formats.problems import FileRefusedError

END = struct.Struct("<4s4H2LH")
END_MAGIC = b"PK\x05\x06"
END64_LOCATOR_MAGIC = b"PK\x06\x07"
LOCATOR_BYTES = 20
END64_MAGIC = b"PK\x06\x06"
END64_BYTES = 56
MAX_COMMENT_BYTES = 65_535
MAX_CONTENTS_BYTES = 200 * limits.MAX_ZIP_ENTRIES
"""Of the table of contents, which is read into memory whole."""

LOCKED = 0x1
UNPACKED_WORTH_A_LOOK_BYTES = limits.MEGABYTE
BOOKKEEPING = {"thumbs.db", "desktop.ini"}


@dataclass
class ZipContents:
    """The contents of a zip: `files` by path, `refused` as (name, reason), and `hidden` ones, which are not read."""

    files: dict[str, zipfile.ZipInfo] = field(default_factory=dict)
    refused: list[tuple[str, str]] = field(default_factory=list)
    hidden: int = 0


def open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    """Raises FileRefusedError where it is no zip, or holds more than is taken."""
    _check_contents_size(file)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error) as error:
        raise _not_a_zip() from error
    entries = archive.infolist()
    if len(entries) > limits.MAX_ZIP_ENTRIES:
        text = _("The zip file has more than %(limit)s files. Split it into several.")
        raise FileRefusedError(text % {"limit": limits.MAX_ZIP_ENTRIES})
    if sum(entry.file_size for entry in entries) > limits.MAX_ZIP_BYTES:
        text = _("The zip file would unpack to more than %(limit)s GB. Split it into several.")
        raise FileRefusedError(text % {"limit": limits.MAX_ZIP_BYTES // 10**9})
    return archive


def contents_of(archive: zipfile.ZipFile) -> ZipContents:
    contents = ZipContents()
    for entry in archive.infolist():
        if entry.filename.endswith("/"):  # a folder; ZipInfo itself cannot say so of an entry without a name
            continue
        if is_hidden(entry.filename):
            contents.hidden += 1
            continue
        reason = why_not(entry)
        try:
            name = path_inside(entry.filename)
        except ValueError as error:
            reason, name = str(error), entry.filename
        if not reason and name in contents.files:
            reason = _("The zip file has another file with the same name, which was imported instead.")
        if reason:
            contents.refused.append((name, reason))
        else:
            contents.files[name] = entry
    return contents


def is_hidden(name: str) -> bool:
    """Whether it is a hidden file of an operating system."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return bool(parts) and (
        parts[-1].lower() in BOOKKEEPING
        or any(part == "__MACOSX" or (part.startswith(".") and part.strip(".")) for part in parts)
    )


def why_not(entry: zipfile.ZipInfo) -> str:
    """Say why the entry is not unpacked, or return ""."""
    if entry.flag_bits & LOCKED:
        return _("This is locked with a password. Make the zip file without one.")
    if stat.S_ISLNK(entry.external_attr >> 16):
        return _("This is a link to another file. Put the file itself in the zip file.")
    if PurePosixPath(entry.filename).suffix.lower() == ".zip":
        return _("This is a zip file inside the zip file. Unpack it first, or upload it by itself.")
    if entry.file_size > UNPACKED_WORTH_A_LOOK_BYTES and entry.file_size > limits.MAX_ZIP_RATIO * entry.compress_size:
        return _("It would unpack to more than %(limit)s times its size, so it is not an image.") % {
            "limit": limits.MAX_ZIP_RATIO
        }
    return ""


def _check_contents_size(file: IO[bytes]) -> None:
    """Refuse a table of contents too large for memory before `zipfile` reads all of it."""
    file.seek(0, 2)
    start = max(0, file.tell() - MAX_COMMENT_BYTES - END.size - LOCATOR_BYTES)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(END_MAGIC)
    if at < 0 or len(tail) - at < END.size:
        raise _not_a_zip()
    size = END.unpack_from(tail, at)[5]
    if tail[max(0, at - LOCATOR_BYTES) : at].startswith(END64_LOCATOR_MAGIC):
        size = _zip64_size(file, start + at - LOCATOR_BYTES)
    file.seek(0)
    if size > MAX_CONTENTS_BYTES:
        text = _("The zip file has more than %(limit)s files. Split it into several.")
        raise FileRefusedError(text % {"limit": limits.MAX_ZIP_ENTRIES})


def _zip64_size(file: IO[bytes], locator: int) -> int:
    """In a zip of more than 4 GB. `zipfile` looks right before the locator, others at the place which that names."""
    file.seek(locator + 8)
    (place,) = struct.unpack("<Q", file.read(8))
    sizes: list[int] = []
    for start in (place, locator - END64_BYTES):
        if 0 <= start <= locator - END64_BYTES:
            file.seek(start)
            record = file.read(END64_BYTES)
            if record.startswith(END64_MAGIC):
                sizes += struct.unpack_from("<Q", record, 40)
    if not sizes:
        raise _not_a_zip()
    return max(sizes)


def _not_a_zip() -> FileRefusedError:
    return FileRefusedError(_("This is not a zip file, or it is incomplete. Make it again."))
