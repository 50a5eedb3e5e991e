"""List the files that a selection of candidates still lacks, as img2dataset and aria2c read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from crosslens_metrics.formats.names import SUFFIXES
from research.selection.models import Candidate, SelectedImage, Selection
from research.selection.rules.candidates import is_address, is_web

ATTRIBUTION = ("licence", "licence_url", "author", "title")
CHECKSUMS = {"md5": "md5", "sha1": "sha-1", "sha256": "sha-256"}
"""Algorithms as candidates name them, and as aria2c does."""

COLUMNS = ("key", "url", *CHECKSUMS, *ATTRIBUTION, "language", "level")
"""No coordinates: they stay here."""

AT_ONCE = 1000


@dataclass(frozen=True)
class SelectedFiles:
    """How many images were chosen, and how many of them have their files."""

    total: int
    there: int

    @property
    def missing(self) -> int:
        return self.total - self.there


def selected_files(selection: Selection) -> SelectedFiles:
    rows = selection.selected_images
    return SelectedFiles(rows.count(), rows.filter(image__isnull=False).count())


def missing_rows(selection: Selection) -> Iterator[dict[str, str]]:
    """Yield a row of `COLUMNS` for each chosen candidate of the web whose file is not there yet."""
    for row, candidate in _missing(selection):
        algorithm, _colon, digest = candidate.checksum.partition(":")
        checksums = {name: digest if name == algorithm else "" for name in CHECKSUMS}
        values = {name: getattr(candidate, name) for name in ATTRIBUTION}
        about = {"language": row.language_id, "level": row.level}
        yield {"key": row.key, "url": candidate.address, **checksums, **values, **about}


def aria2_lines(selection: Selection) -> Iterator[str]:
    """Yield the same files as an input file of aria2c, but for those whose key cannot be the name of a file."""
    for row, candidate in _missing(selection):
        if not is_file_name(row.key):
            continue
        suffix = PurePosixPath(urlsplit(candidate.address).path).suffix.lower()
        yield f"{candidate.address}\n  out={row.key}{suffix if suffix in SUFFIXES else ''}\n"
        algorithm, _colon, digest = candidate.checksum.partition(":")
        if digest:
            yield f"  checksum={CHECKSUMS[algorithm]}={digest}\n"


def is_file_name(key: str) -> bool:
    """Return whether a file in a folder can have this name, and is not hidden there."""
    parts = PurePosixPath(key).parts
    return is_address(key) and not any(part.startswith(".") or len(part.encode()) > 250 for part in parts)


def _missing(selection: Selection) -> Iterator[tuple[SelectedImage, Candidate]]:
    rows = selection.selected_images.filter(image__isnull=True, candidate__isnull=False).select_related("candidate")
    for row in rows.order_by("language", "position").iterator(chunk_size=AT_ONCE):
        if row.candidate is not None and is_web(row.candidate.address):
            yield row, row.candidate
