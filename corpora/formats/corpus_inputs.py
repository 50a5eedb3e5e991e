"""The files that a corpus is made from, on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from corpora.models import CorpusBuild, FileRole
from corpora.selectors.corpus_folders import fetched
from images.rules.archives import contents_of, open_zip
from images.services.file_storage import CHUNK_BYTES


def input_of(build: CorpusBuild, scratch: Path) -> Callable[[str], Path]:
    """Return what gives the path of a file of a build by its name; a ZIP of images is unpacked to `scratch`."""

    def path_of(name: str) -> Path:
        file = build.files.filter(name=name).first()
        if file is None:
            raise FileNotFoundError(name)
        path = fetched(file.stored, scratch=scratch)
        return _unpacked(path, scratch / f"images-{file.sha256}") if file.role == FileRole.IMAGES else path

    return path_of


def _unpacked(path: Path, folder: Path) -> Path:
    """Unpack a ZIP that was checked when it was added; names that lead out of the folder are left out."""
    if folder.is_dir():
        return folder
    with path.open("rb") as file, open_zip(file) as archive:
        for name, entry in contents_of(archive).files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, CHUNK_BYTES)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
