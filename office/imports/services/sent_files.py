"""The files of an upload on this machine, under the names that somebody chose, and what to look at of them."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path, PurePosixPath

from django.core.files.storage import default_storage
from django.utils.translation import gettext as _

from core.images.models import ImportJob
from core.images.rules.archives import ZipContents, contents_of, open_zip
from core.images.rules.limits import MAX_NAME_BYTES, MEGABYTE
from core.images.services import imports
from core.images.services.sources import UNPACKING_FAILED
from crosslens_metrics.formats import manifests
from crosslens_metrics.formats.names import SUFFIXES
from crosslens_metrics.formats.parts import TAR_SUFFIXES
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from gapgame.formats.sources import item_folders

SHOWN_NAMES = 3
"""Of what is looked at together."""
RENEWED_AFTER_BYTES = 100 * MEGABYTE
SHOWN_OF_A_NAME = 50
MAX_PATH_BYTES = 3_000
"""Of a name with its folders: with those of this machine before it, systems have 4,096 at most."""


@dataclass
class SentFiles:
    """Images that were sent one by one, files of a folder, and what is in a zip beside its manifest lie `together`.

    Any other archive stands by itself, and so does a folder with sentences for the game, also one from a zip. `refused`
    has what is left out, by the path of what it came with. `renew` is called while files are unpacked.
    """

    root: Path
    together: Path
    renew: Callable[[], None]
    chosen: dict[str, None] = field(default_factory=dict)
    apart: list[Path] = field(default_factory=list)
    refused: dict[str, list[LineError]] = field(default_factory=dict)

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
        self.together.mkdir()
        for position, name in enumerate(names, start=1):
            is_archive = "/" not in name and name.lower().endswith((".zip", *TAR_SUFFIXES))
            is_beside = are_together and not is_archive
            home = self.together if is_beside or name.lower() in manifests.NAMES else self.root
            about = next((self.items / path for path in folders if name.startswith(f"{path}/")), self.together)
            path = self._place(home if about == self.together else self.items, name, str(position), about)
            if about == self.together and (path is None or "/" in name or name.lower().endswith(SUFFIXES)):
                self.chosen[name.split("/")[0]] = None
            if path is not None:
                _fetch(f"{folder}/{position}", path)
                self.apart += [] if is_beside else [path]
        # After all that was sent, which so has its own name where a zip has a file that is called the same.
        for path in [path for path in self.apart if path.suffix.lower() == ".zip" and path.is_file()]:
            if self._unpack(path, has_manifest=has_manifest):
                self.apart.remove(path)
        if self.chosen:
            self.apart = [path for path in self.apart if self.together not in path.parents]

    @property
    def items(self) -> Path:
        return self.together.with_name(f"{self.together.name}-items")

    def _unpack(self, path: Path, *, has_manifest: bool) -> bool:
        """Unpack a zip with sentences for the game, or one that has no manifest where there is one beside it.

        Returns whether it was one.
        """
        with path.open("rb") as file:
            try:
                archive = open_zip(file)
            except FileRefusedError:
                return False
            contents = contents_of(archive)
            folders = item_folders(contents.files)
            has_own = any(Path(name).name.lower() in manifests.NAMES for name in contents.files)
            if not (folders or (has_manifest and not has_own)):
                return False
            # Its name is free again, for its files.
            path.unlink()
            self._unpack_all(archive, contents, path.relative_to(self.root), folders)
        return True

    def _unpack_all(self, archive: zipfile.ZipFile, contents: ZipContents, zip_name: Path, folders: list[str]) -> None:
        of_items = {name for name in contents.files if any(not one or name.startswith(f"{one}/") for one in folders)}
        self.apart += [self.items / zip_name / one for one in folders]
        if not folders or len(of_items) < len(contents.files):
            self.chosen[str(zip_name)] = None
        about = self.items / zip_name / folders[0] if folders else self.together
        self._refuse(about, *(LineError(reason, name) for name, reason in contents.refused))
        unpacked_bytes = 0
        for name, entry in contents.files.items():
            home, inside = (self.items, f"{zip_name}/{name}") if name in of_items else (self.together, name)
            if target := self._place(home, inside, zip_name.stem, about):
                _copy(archive, entry, target)
            unpacked_bytes += entry.file_size
            if unpacked_bytes > RENEWED_AFTER_BYTES:
                self.renew()
                unpacked_bytes = 0

    def _place(self, home: Path, name: str, before: str, about: Path) -> Path | None:
        """Where to put a file in `home`: in a new folder, called `before`, where its name is taken.

        Previews and reports tell files apart by name, so that one is taken in all homes at once. None where no disk
        could hold the name, which is refused as a part of what it is `about`.
        """
        is_long = len(os.fsencode(name)) > MAX_PATH_BYTES
        if is_long or any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in name.split("/")):
            text = _("The name of the file “%(name)s…” is longer than %(limit)s bytes. Rename it.")
            shown = name.rpartition("/")[2][:SHOWN_OF_A_NAME]
            self._refuse(about, LineError(text % {"name": shown, "limit": MAX_NAME_BYTES}, name))
            return None
        others = (f"{before}-{number}/{name}" for number in count(2))
        path = next(home / one for one in chain((name, f"{before}/{name}"), others) if self._is_free(home, one))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _is_free(self, home: Path, name: str) -> bool:
        is_taken = any((one / name).exists() for one in (self.root, self.together, self.items))
        return not is_taken and not any((home / parent).is_file() for parent in PurePosixPath(name).parents)

    def _refuse(self, about: Path, *errors: LineError) -> None:
        self.refused.setdefault(str(about), []).extend(errors)


def _copy(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    """What is broken is cut off, and refused like any other file of which a part is missing."""
    with target.open("wb") as copy, suppress(*UNPACKING_FAILED):
        try:
            packed = archive.open(entry)
        except OSError as error:
            if error.errno == errno.EINVAL:  # it is said to begin before the zip does
                return
            raise
        with packed:
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
