"""Read the lines of a manifest: a file and its attribution."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from core.images.rules import limits
from crosslens_metrics.formats.lines import LineFields
from crosslens_metrics.formats.manifests import COLUMNS, manifest_records
from crosslens_metrics.formats.names import normalised_name
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import is_text, malformed, not_utf8, read_record

TEXT_COLUMNS = {"key": 200, "title": 500, "author": 500, "licence": 200, "licence_url": 500, "source": 1000}
"""Longest value in characters, as the columns of the database have it."""

ALIASES = {"license": "licence", "license_url": "licence_url"}


@dataclass(frozen=True)
class ImageAttribution:
    """What is known about an image besides its pixels; latitude and longitude in degrees north and east."""

    key: str = ""
    title: str = ""
    author: str = ""
    licence: str = ""
    licence_url: str = ""
    source: str = ""
    latitude: float | None = None
    longitude: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def fetched_from(self, address: str) -> ImageAttribution:
        """Add where the file was fetched from, unless a source is given or it is too long for one."""
        is_short = len(address) <= TEXT_COLUMNS["source"]
        return self if self.source or not is_short else replace(self, source=address)


@dataclass(frozen=True)
class ManifestLine:
    number: int
    file: str
    attribution: ImageAttribution


def lines_of(
    file: IO[bytes], *, size_bytes: int, said: Mapping[str, str] | None = None
) -> Iterator[ManifestLine | LineError]:
    """Read the lines of the manifest in `file`, of any form; `said` are names of its columns by what they hold.

    Raises FileRefusedError where it cannot be used as a whole.
    """
    if size_bytes > limits.MAX_MANIFEST_BYTES:
        text = _("The manifest is larger than %(limit)s MB. Split it into several.")
        raise FileRefusedError(text % {"limit": limits.MAX_MANIFEST_BYTES // 10**6})
    seen: dict[str, int] = {}
    for count, record in enumerate(manifest_records(file, said), start=1):
        if count > limits.MAX_MANIFEST_LINES:
            text = _("The manifest has more than %(limit)s lines. Split it into several.")
            raise FileRefusedError(text % {"limit": limits.MAX_MANIFEST_LINES})
        line = read_record(record, partial(_line, record.number))
        if isinstance(line, ManifestLine):
            first = seen.setdefault(line.file, line.number)
            if first != line.number:
                reason = _("Line %(first)s already names this file.") % {"first": first}
                line = LineError(reason, line.file, number=line.number)
        yield line


def faults_in(file: IO[bytes], said: Mapping[str, str] | None = None) -> Iterator[LineError]:
    """What keeps lines of a manifest from being read, wherever the files that they name are.

    Raises FileRefusedError where it cannot be used as a whole.
    """
    for record in manifest_records(file, said):
        line = read_record(record, partial(_line, record.number))
        if isinstance(line, LineError):
            line.number = record.number
            yield line


def _line(number: int, value: Any) -> ManifestLine:
    if not isinstance(value, dict):
        raise LineError(_("This is not a JSON object with a “file”."))
    values: dict[str, Any] = {ALIASES.get(name, str(name)): value for name, value in value.items() if name}
    file_name = next((values.pop(name) for name in COLUMNS if name in values), None)
    file = file_name if isinstance(file_name, str) and is_text(file_name) else ""
    try:
        return ManifestLine(number, path_inside(file), attribution_of(values))
    except LineError as wrong:
        raise LineError(wrong.reason, file) from wrong


def path_inside(file: str) -> str:
    """Normalise `file` as a path within its folder, with slashes.

    Raises ValueError with a message for people, where it is empty, absolute, or climbs out of the folder.
    """
    path = PurePosixPath(normalised_name(file).replace("\\", "/"))
    if not path.parts or not is_text(file):
        raise LineError(_("This line names no file."))
    if path.is_absolute() or ".." in path.parts or (len(path.parts[0]) == 2 and path.parts[0][1] == ":"):
        raise LineError(
            _("The path leads out of the folder. Give the path within the folder, without “..” or a leading slash.")
        )
    return str(path)


def attribution_of(values: Mapping[str, Any]) -> ImageAttribution:
    """Read the attribution from the other columns of a line.

    Raises ValueError with a message for people, where one of them cannot be kept.
    """
    values = {ALIASES.get(name, name): value for name, value in values.items()}
    fields = LineFields(values)
    texts = {name: fields.text(name, longest=longest, numbers=True) for name, longest in TEXT_COLUMNS.items()}
    has_controls = any(unicodedata.category(character) == "Cc" for character in texts["key"])
    texts["key"] = normalised_name(texts["key"])
    if has_controls or not texts["key"].isprintable():
        raise LineError(_("The key has control characters. Remove them."))
    if texts["licence_url"]:
        _check_address(texts["licence_url"])
    latitude = _angle("latitude", values.get("latitude"), 90)
    longitude = _angle("longitude", values.get("longitude"), 180)
    if (latitude is None) != (longitude is None):
        raise LineError(_("Latitude and longitude go together: give both or neither."))
    return ImageAttribution(**texts, latitude=latitude, longitude=longitude, extra=_extra(values))


def _check_address(value: str) -> None:
    try:
        parts = urlsplit(value)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in value
    except ValueError:
        is_address = False
    if not is_address:
        raise LineError(_("licence_url must start with https:// or http://."))


def _angle(name: str, value: Any, limit: int) -> float | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        degrees = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        degrees = math.nan
    if not abs(degrees) <= limit:  # false for NaN too
        text = _("%(name)s must be a number of degrees between -%(limit)s and %(limit)s, for example 48.2082.")
        raise LineError(text % {"name": name, "limit": limit})
    return degrees


def _extra(values: Mapping[str, Any]) -> dict[str, Any]:
    known = {*TEXT_COLUMNS, "latitude", "longitude"}
    extra = {name: value for name, value in values.items() if name not in known and value not in ("", None)}
    # Escapes are taken apart, so that a NUL or half a surrogate pair is found however deep it lies.
    try:
        text = json.dumps(extra, ensure_ascii=False, allow_nan=False)
    except RecursionError as error:
        raise LineError(_("The additional columns are nested too deeply.")) from error
    except ValueError as error:  # 1e400 is read as infinity, which no database takes for JSON
        raise LineError(malformed(error)) from error
    if len(text) > limits.MAX_EXTRA_CHARACTERS:
        reason = _("The additional columns have more than %(limit)s characters.")
        raise LineError(reason % {"limit": limits.MAX_EXTRA_CHARACTERS})
    if not is_text(text) or "\\u0000" in text:
        raise LineError(not_utf8())
    return extra
