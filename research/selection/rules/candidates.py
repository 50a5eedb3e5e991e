"""Lines of a file of candidates: which columns hold what, and what keeps a line out."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from urllib.parse import urlsplit, urlunsplit

from crosslens_metrics.formats.names import normalised_name
from geography.places import CoordinateFault, fault_of

COLUMNS = {
    "key": ("key", "imageid"),
    "address": ("address", "url", "originalurl"),
    "latitude": ("latitude",),
    "longitude": ("longitude",),
    "licence": ("licence", "license"),
    "licence_url": ("licence_url", "license_url"),
    "author": ("author",),
    "title": ("title",),
    "checksum": ("checksum", "originalmd5"),
    "bytes": ("bytes", "originalsize"),
}
"""Names of columns by what they hold; those of Open Images come last."""

REQUIRED = ("key", "address", "latitude", "longitude")
MAX_CHARACTERS = {"key": 200, "address": 2000, "licence": 200, "licence_url": 500}
CUT = {"author": 500, "title": 500}
DIGEST_BYTES = {"md5": 16, "sha1": 20, "sha256": 32}
MAX_BYTES = 2**63 - 1

WEB = ("https://", "http://")
CREATIVE_COMMONS = re.compile(
    r"https?://creativecommons\.org/(?:licenses|publicdomain)/([a-z-]+)/([0-9.]+)", re.IGNORECASE
)
PUBLIC_DOMAIN = {"zero": "CC0", "mark": "Public Domain Mark"}


class CandidateFault(StrEnum):
    """Why a line is left out; the faults of coordinates have the names of `CoordinateFault`."""

    COORDINATES_MISSING = "missing"
    COORDINATES_NOT_NUMBERS = "not_a_number"
    COORDINATES_OUT_OF_RANGE = "out_of_range"
    COORDINATES_SWAPPED = "swapped"
    COORDINATES_ZERO = "null_island"
    NO_KEY = "no_key"
    NO_ADDRESS = "no_address"
    BAD_ADDRESS = "bad_address"
    PRIVATE_ADDRESS = "private_address"
    NO_LICENCE = "no_licence"
    BAD_CHECKSUM = "bad_checksum"
    TOO_LONG = "too_long"
    UNREADABLE = "unreadable"
    KEY_TWICE = "key_twice"
    IMAGE_TWICE = "image_twice"


class DoubledColumnsError(Exception):
    """Several columns hold the same; `fields` says what."""

    def __init__(self, fields: Sequence[str]) -> None:
        super().__init__(fields)
        self.fields = fields


@dataclass(frozen=True, slots=True)
class CandidateLine:
    """What a line says of a candidate; `checksum` as algorithm:hexadecimal."""

    key: str
    address: str
    latitude: float
    longitude: float
    title: str
    author: str
    licence: str
    licence_url: str
    checksum: str
    bytes: int | None


def columns_of(header: Iterable[str]) -> dict[str, str]:
    """Find the names of the columns by what they hold; their case does not matter.

    Raises DoubledColumnsError.
    """
    there = {name.strip().lower(): name for name in header}
    columns: dict[str, str] = {}
    doubled = []
    for field, known in COLUMNS.items():
        found = [there[name] for name in known if name in there]
        if len(found) > 1:
            doubled.append(field)
        elif found:
            columns[field] = found[0]
    if doubled:
        raise DoubledColumnsError(doubled)
    return columns


def missing_columns(header: Iterable[str]) -> list[str]:
    """Name what is needed and no column holds."""
    there = {name.strip().lower() for name in header}
    return [field for field in REQUIRED if there.isdisjoint(COLUMNS[field])]


def read_line(given: Mapping[str, str], *, needs_licence: bool = True) -> CandidateLine | CandidateFault:
    """Read one line by what its cells hold, or say what keeps it out: the first fault found."""
    values = dict(given)
    if any("\0" in value for value in values.values()) or not values["key"].isprintable():
        return CandidateFault.UNREADABLE
    values["key"] = normalised_name(values["key"])
    if not values["key"]:
        return CandidateFault.NO_KEY
    fault: CoordinateFault | None = fault_of(values["latitude"], values["longitude"])
    if fault is not None:
        return CandidateFault(str(fault))
    licence, licence_url = licence_of(values.get("licence", ""), values.get("licence_url", ""))
    if not values["address"]:
        return CandidateFault.NO_ADDRESS
    if not is_address(values["address"]):
        return CandidateFault.BAD_ADDRESS
    if is_private(values["address"]):
        return CandidateFault.PRIVATE_ADDRESS
    if needs_licence and not (licence or licence_url):
        return CandidateFault.NO_LICENCE
    texts = {**values, "licence": licence, "licence_url": licence_url}
    if any(len(texts[field]) > longest for field, longest in MAX_CHARACTERS.items()):
        return CandidateFault.TOO_LONG
    checksum = checksum_of(values.get("checksum", ""))
    if checksum is None:
        return CandidateFault.BAD_CHECKSUM
    size = values.get("bytes", "")
    return CandidateLine(
        key=values["key"],
        address=values["address"],
        latitude=float(values["latitude"]),
        longitude=float(values["longitude"]),
        title=values.get("title", "")[: CUT["title"]],
        author=values.get("author", "")[: CUT["author"]],
        licence=licence,
        licence_url=licence_url,
        checksum=checksum,
        bytes=int(size) if size.isascii() and size.isdigit() and len(size) < 19 else None,
    )


def is_address(text: str) -> bool:
    """Return whether it is an https:// or http:// address with a host, or a path that stays in its folder."""
    if not text.isprintable() or "\\" in text:
        return False
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    if parts.scheme in ("http", "https"):
        return bool(parts.hostname) and port != 0 and parts.username is None and " " not in text
    path = PurePosixPath(text)
    return (
        not parts.scheme and not parts.netloc and not path.is_absolute() and ".." not in path.parts and bool(path.name)
    )


def is_private(address: str) -> bool:
    """Return whether an address names this computer, or a number of a private network; names are not looked up."""
    host = (urlsplit(address).hostname or "") if is_web(address) else ""
    try:
        return not ipaddress.ip_address(host.partition("%")[0]).is_global
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def same_address(address: str) -> str:
    """Return one text for the addresses of one file: with http or https, any case of the host, and any fragment."""
    if not is_web(address):
        return address
    parts = urlsplit(address)
    return urlunsplit(("https", parts.netloc.lower(), parts.path, parts.query, ""))


def is_web(address: str) -> bool:
    return urlsplit(address).scheme in ("http", "https")


def licence_of(licence: str, licence_url: str) -> tuple[str, str]:
    """Return the name and the address of a licence; Open Images has the address where others have the name.

    What stands in the place of an address and is none becomes the name, since pages link to addresses.
    """
    if licence.startswith(WEB):
        licence, licence_url = "", licence_url or licence
    if not licence_url.startswith(WEB):
        licence, licence_url = licence or licence_url, ""
    found = CREATIVE_COMMONS.match(licence_url)
    if found and not licence:
        kind, version = found[1].lower(), found[2]
        licence = f"{PUBLIC_DOMAIN.get(kind) or f'CC {kind.upper()}'} {version}"
    return licence, licence_url


def checksum_of(text: str) -> str | None:
    """Return a checksum as algorithm:hexadecimal, "" if there is none, None if it cannot be read.

    Without its name, the algorithm follows from the length: MD5, SHA-1 or SHA-256, as hexadecimal or base64.
    """
    if not text:
        return ""
    name, colon, digest = text.rpartition(":")
    content = _decoded(digest)
    if content is None:
        return None
    algorithm = next((one for one, size in DIGEST_BYTES.items() if size == len(content)), None)
    if algorithm is None or (colon and name.lower().replace("-", "") != algorithm):
        return None
    return f"{algorithm}:{content.hex()}"


def _decoded(digest: str) -> bytes | None:
    if re.fullmatch(r"(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64})", digest):
        return bytes.fromhex(digest)
    try:
        return base64.b64decode(digest, validate=True)
    except (binascii.Error, ValueError):
        return None
