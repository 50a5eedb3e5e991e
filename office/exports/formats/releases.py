"""A release that was made: its archive, or its files in a folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.files.storage import default_storage
from django.utils.translation import gettext as _

from annotation.models import Release
from annotation.selectors.releases import releases_of
from core.jobs.models import JobState
from office.exports.selectors.tables import ExportError, ExportWish
from tabular.downloads import PIECE_BYTES


def asked_release(wish: ExportWish) -> Release:
    """Return the release that has this number, or the newest.

    Raises ExportError where there is none whose files are made.
    """
    done = releases_of(wish.project).filter(state=JobState.DONE)
    numbers = [str(number) for number in done.values_list("number", flat=True)]
    if not numbers:
        raise ExportError(_("No release has been made yet. Make one first."))
    if wish.release and wish.release not in numbers:
        about = {"number": wish.release, "known": ", ".join(reversed(numbers))}
        raise ExportError(_("There is no release %(number)s. Available: %(known)s.") % about)
    return done.get(number=wish.release or numbers[0])


def as_archive(wish: ExportWish) -> Iterator[bytes]:
    """Open the archive in storage and read it in pieces.

    Raises ExportError, also where the file is no longer there.
    """
    release = asked_release(wish)
    if not default_storage.exists(release.archive):
        raise ExportError(_("The file is no longer in storage. Ask the administrator of this site."))
    with default_storage.open(release.archive) as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def write_folder(release: Release, folder: Path) -> None:
    """Write the files of a release into a folder that is empty or not there yet: all of them or none.

    Raises OSError, and ExportError where a file is no longer in storage.
    """
    names = [file["name"] for file in release.counts["files"]]
    if not all(default_storage.exists(f"{release.folder}/{name}") for name in names):
        raise ExportError(_("The file is no longer in storage. Ask the administrator of this site."))
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.absolute().parent) as place:
        whole = Path(place, "files")
        for name in names:
            path = whole / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with default_storage.open(f"{release.folder}/{name}") as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
        whole.replace(folder)
