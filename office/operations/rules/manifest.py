"""A backup's description of itself: manifest.json, which is written last, and the checksums of all else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FORMAT = 1
MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
FILES_FOLDER = "files"
DUMPS = {"postgresql": "database.dump", "sqlite": "database.sqlite3"}


class BackupError(Exception):
    """A step is not possible: why, and what to do instead, in one sentence for the operator."""


@dataclass(frozen=True)
class BackupManifest:
    """`rows` by table, and `migrations` as "app.name", are from the moment of the snapshot."""

    made_at: str
    code: str
    engine: str
    server: str
    rows: Mapping[str, int]
    migrations: tuple[str, ...]
    secret_key: str
    storage: str
    has_files: bool
    files: int
    bytes: int
    sums: str
    format: int = FORMAT

    @property
    def dump(self) -> str:
        return DUMPS[self.engine]

    def text(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


def read(folder: Path) -> BackupManifest:
    """Read the manifest of a complete backup.

    Raises BackupError where the folder holds none, or one of another kind.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise BackupError(f"{folder} is no whole backup: it has no {MANIFEST}, which is written last.")
    try:
        said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if said.get("format") != FORMAT:
            raise BackupError(f"{path} is of format {said.get('format')}; this Crosslens reads format {FORMAT}.")
        said["migrations"] = tuple(said["migrations"])
        manifest = BackupManifest(**said)
        _ = manifest.dump
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupError(f"{path} is damaged. Use another backup.") from error
    return manifest


def sums_text(sums: Mapping[str, str]) -> str:
    """Format checksums as `sha256sum --check` reads them."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))


def read_sums(lines: Iterable[str]) -> dict[str, str]:
    sums = {}
    for number, line in enumerate(lines, start=1):
        digest, blanks, name = line.rstrip("\n").partition("  ")
        if not blanks or len(digest) != 64 or ".." in Path(name).parts or Path(name).is_absolute():
            raise BackupError(f"Line {number} of {SUMS} is damaged. Use another backup.")
        sums[name] = digest
    return sums
