"""The files of an upload on this machine, under the names that somebody chose, and what to look at of them."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from django.core.files.storage import default_storage

from core.images.models import ImportJob
from core.images.rules.archives import contents_of, open_zip
from core.images.rules.limits import MEGABYTE
from core.images.services import imports
from core.images.services.sources import UNPACKING_FAILED
from crosslens_metrics.formats import manifests
from crosslens_metrics.formats.names import SUFFIXES
from crosslens_metrics.formats.parts import TAR_SUFFIXES
from crosslens_metrics.formats.problems import FileRefusedError
from gapgame.formats.sources import item_folders

SHOWN_NAMES = 3
"""Of what is looked at together."""
RENEWED_AFTER_BYTES = 100 * MEGABYTE


@dataclass
class SentFiles:
    """Images that were sent one by one, files of a folder, and what is in a zip beside its manifest lie `together`.

    Any other archive stands by itself, and so does a folder with sentences for the game, also one from a zip. `renew`
    is called while files are unpacked.
    """

    root: Path
    together: Path
    renew: Callable[[], None]
    chosen: dict[str, None] = field(default_factory=dict)
    apart: list[Path] = field(default_factory=list)

    def paths(self) -> list[Path]:
        """What to look at, in the order in which it was sent."""
        return [self.together, *self.apart] if self.chosen else self.apart

    def shown(self, text: str, *, spelt: Callable[[str], str] = str) -> str:
        """Put the names that somebody chose, as they are `spelt`, in place of where the files lie now."""
        names = list(self.chosen)
        label = spelt(", ".join(names if len(names) <= SHOWN_NAMES else [*names[:SHOWN_NAMES], "…"]))
        text = re.sub(rf"{re.escape(str(self.root))}/(?:{self.together.name}(?:-items)?/)?", "", text)
        return re.sub(rf"(?<!/){self.together.name}(?!/)", lambda _found: label, text)

    def take(self, folder: str, names: Sequence[str]) -> None:
        """Fetch what waits in storage as `folder`/1, `folder`/2, …"""
        folders = [path for path in item_folders(names) if path]
        self.apart += [self.items / path for path in folders]
        are_together = any("/" in name or name.lower().endswith(SUFFIXES) for name in names)
        has_manifest = any(name.lower() in manifests.NAMES for name in names)
        for position, name in enumerate(names, start=1):
            is_archive = "/" not in name and name.lower().endswith((".zip", *TAR_SUFFIXES))
            is_beside = are_together and not is_archive
            home = self.together if is_beside or name.lower() in manifests.NAMES else self.root
            if any(name.startswith(f"{path}/") for path in folders):
                home = self.items
            path = home / name
            if path.exists():
                # Two that have one name stay apart.
                path = path.with_name(f"{position}-{path.name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            _fetch(f"{folder}/{position}", path)
            if home == self.items or (is_archive and self._unpack(path, has_manifest=has_manifest)):
                continue
            if "/" in name or name.lower().endswith(SUFFIXES):
                self.chosen[name.split("/")[0]] = None
            elif not is_beside:
                self.apart.append(path)
        if self.chosen:
            self.apart = [path for path in self.apart if path.parent != self.together]

    @property
    def items(self) -> Path:
        return self.together.with_name(f"{self.together.name}-items")

    def _unpack(self, path: Path, *, has_manifest: bool) -> bool:
        """Unpack a zip with sentences for the game, or one that has no manifest where there is one beside it.

        Returns whether it was one.
        """
        try:
            with path.open("rb") as file, open_zip(file) as archive:
                contents = contents_of(archive)
                folders = item_folders(contents.files)
                has_own = any(Path(name).name.lower() in manifests.NAMES for name in contents.files)
                if contents.refused or not (folders or (has_manifest and not has_own)):
                    return False
                self.apart += [self.items / path.name / one for one in folders]
                unpacked_bytes = 0
                for name, entry in contents.files.items():
                    _copy(archive, entry, self._place_of(path, name, folders))
                    unpacked_bytes += entry.file_size
                    if unpacked_bytes > RENEWED_AFTER_BYTES:
                        self.renew()
                        unpacked_bytes = 0
        except (FileRefusedError, OSError):
            return False
        return True

    def _place_of(self, path: Path, name: str, folders: Sequence[str]) -> Path:
        """Where a file of the zip at `path` is unpacked."""
        if any(not one or name.startswith(f"{one}/") for one in folders):
            return self.items / path.name / name
        self.chosen[path.name] = None
        return self.together / name if not (self.together / name).exists() else self.together / path.stem / name


def _copy(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    """What is broken is cut off, and refused like any other file of which a part is missing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(*UNPACKING_FAILED), archive.open(entry) as packed, target.open("wb") as copy:
        shutil.copyfileobj(packed, copy)


@contextmanager
def sent_files(job: ImportJob, *, renew: Callable[[], None]) -> Iterator[SentFiles]:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        # No file has its name.
        sent = SentFiles(root, root / Path(job.folder).name, renew)
        sent.take(job.folder, job.options[imports.FILE_NAMES])
        yield sent


def _fetch(name: str, path: Path) -> None:
    try:
        os.link(default_storage.path(name), path)
    except (NotImplementedError, OSError):
        with default_storage.open(name) as stored, path.open("wb") as copy:
            shutil.copyfileobj(stored, copy)
