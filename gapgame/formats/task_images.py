"""The images of a machine task: copied with their credits, or as features, so that its folder is all that is needed."""

from __future__ import annotations

import shutil
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from core.images.rules import manifests
from crosslens_metrics.formats.arrays import opened_arrays
from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.manifests import NAMES
from crosslens_metrics.formats.names import ImageNames
from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError, LineError
from crosslens_metrics.named_vectors import ENTRIES, MalformedVectorsError, NamedVectors, read_named_vectors
from gapgame.formats.sources import read_embeddings
from gapgame.formats.task_folders import Object, json_line, objects_of, refused

CREDITS = ("title", "author", "licence", "licence_url", "source")
IMAGES = "images"
LISTED = "images.jsonl"
FEATURES = "features.npz"
MAX_NAMED = 5

Credits = dict[str, dict[str, str]]


def credits_in(values: Iterable[Any]) -> Credits:
    """Return title, author, licence and source of those images of a line of items that state any."""
    return {
        value["file"]: credit
        for value in values
        if isinstance(value, dict) and (credit := {name: str(value[name]) for name in CREDITS if value.get(name)})
    }


def credits_beside(corpus: Path) -> Credits:
    """Read images.jsonl beside the items of a corpus; empty where there is none."""
    file = corpus / LISTED
    if not file.is_file():
        return {}
    credits: Credits = {}
    with LineReader(file) as reader:
        for record in reader.records():
            with reader.line(record):
                name = LineFields(record.value, example='{"file": …, "licence": …}').text("file", needed=True)
                credits |= credits_in([record.value]) or {name: {}}
    return credits


class ImageFolder:
    """The files of images in a folder, by their name, or the key of a manifest in it, with credits."""

    def __init__(self, folder: Path, credits: Mapping[str, Mapping[str, str]]) -> None:
        self.folder, self._credits = folder.resolve(), credits
        self._files: dict[str, tuple[str, dict[str, str]]] = {}
        for name in NAMES:
            if (folder / name).is_file():
                self._read(folder / name)
        self._names = ImageNames(self._files)

    def _read(self, file: Path) -> None:
        with LineReader(file) as reader, file.open("rb") as opened:
            for line in manifests.lines_of(opened, size_bytes=file.stat().st_size):
                if isinstance(line, LineError):
                    reader.problems.append(line)
                    continue
                known = {name: value for name in CREDITS if (value := getattr(line.attribution, name))}
                for name in filter(None, (line.attribution.key, line.file)):
                    self._files.setdefault(name, (line.file, known))

    def find(self, name: str) -> tuple[Path, dict[str, str]] | None:
        """Return the file of an image and its credits, or None."""
        listed, known = self._names.first(name) or (name, {})
        file = self._inside(listed) or self._on_disk.first(listed)
        return (file, {**self._credits.get(name, {}), **known}) if file else None

    @cached_property
    def _on_disk(self) -> ImageNames[Path]:
        """Needed only where a file is spelt otherwise than it is named."""
        files = (path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())
        return ImageNames({path.relative_to(self.folder).as_posix(): path for path in files})

    def _inside(self, name: str) -> Path | None:
        with suppress(ValueError, OSError):
            file = (self.folder / manifests.path_inside(name)).resolve()
            return file if file.is_relative_to(self.folder) and file.is_file() else None
        return None


def copy_images(names: Sequence[str], source: ImageFolder, into: Path) -> Credits:
    """Copy the images into the folder `images` of a task.

    Raises FileProblemsError where an image is missing, or has no licence: then it must not be handed on.
    """
    found = {name: source.find(name) for name in names}
    missing = [name for name, one in found.items() if one is None]
    if missing:
        raise _refused(source.folder, _("%(count)s images are not in this folder: %(names)s."), missing)
    unlicensed = [name for name, one in found.items() if one is not None and not one[1].get("licence")]
    if unlicensed:
        text = _(
            "%(count)s images have no licence, so they cannot be copied: %(names)s. State it with the items, "
            "or in a manifest in this folder."
        )
        raise _refused(source.folder, text, unlicensed)
    credits: Credits = {}
    for name, one in found.items():
        assert one is not None
        file, known = one
        target = into / IMAGES / file.relative_to(source.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        credits[name] = {"file": target.relative_to(into).as_posix(), **known}
    return credits


def write_credits(names: Sequence[str], credits: Mapping[str, Mapping[str, str]], folder: Path) -> Counter[str]:
    """Write a line for each image with what is known of it, and count the licences."""
    licences: Counter[str] = Counter()
    with (folder / LISTED).open("wb") as file:
        for name in names:
            known = credits.get(name, {})
            licences[known.get("licence", "")] += 1
            file.write(json_line({"id": name, **known}))
    return licences


def add_images(
    folder: Path, used: Iterable[str], credits: Credits, *, copied_from: Path | None, features: Path | None
) -> Mapping[str, int]:
    """Copy images and write features as asked, write the list of images, and return how many have each licence."""
    names = sorted(used)
    if copied_from is not None:
        credits = copy_images(names, ImageFolder(copied_from, credits), folder)
    if features is not None:
        write_features(names, features, folder)
    return write_credits(names, credits, folder)


def features_of(file: Path) -> Mapping[str, NDArray[np.float32]]:
    """Read features of images: named vectors, or what holds the embeddings of items.

    Raises FileProblemsError where the file is neither.
    """
    try:
        with file.open("rb") as opened:
            is_named = _is_named(file)
            if not is_named:
                return read_embeddings(opened)
        vectors = read_named_vectors(file)
    except OSError as error:
        raise refused(file, _("The file cannot be read: %(error)s.") % {"error": error.strerror}) from error
    except (FileRefusedError, MalformedVectorsError) as error:
        raise refused(file, str(error)) from error
    return dict(zip(vectors.keys, vectors.vectors, strict=True))


def _is_named(file: Path) -> bool:
    try:
        with opened_arrays(file) as arrays:
            return set(ENTRIES) <= set(arrays)
    except (ValueError, RuntimeError, EOFError, OSError, zlib.error, BadZipFile):
        return False


def rows_of(names: Sequence[str], vectors: Mapping[str, NDArray[np.float32]], file: Path) -> NDArray[np.float32]:
    """Return the features of the images in their order, shape (n_images, dimensions).

    Raises FileProblemsError where an image has none.
    """
    known = ImageNames(vectors)
    rows = [known.first(name) for name in names]
    missing = [name for name, row in zip(names, rows, strict=True) if row is None]
    if missing:
        raise _refused(file, _("%(count)s images have no features in this file: %(names)s."), missing)
    return np.stack([row for row in rows if row is not None]).astype(np.float32)


def write_features(names: Sequence[str], features: Path, folder: Path) -> None:
    """Write features of the images as `features.npz`, in the layout of named vectors."""
    rows = rows_of(names, features_of(features), features)
    signature = read_named_vectors(features).signature if _is_named(features) else features.name
    NamedVectors(tuple(names), rows, signature, signature).save(folder / FEATURES)


def instances_of(folder: Path, parts: Iterable[str]) -> dict[str, list[Object]]:
    """Return the instances of each part of a task; one of an older task has the first of its images."""
    return {
        part: [{**one, "image": one.get("image") or one["images"][0]} for one in objects_of(folder / f"{part}.jsonl")]
        for part in parts
    }


def _refused(path: Path, text: str, names: Sequence[str]) -> FileProblemsError:
    shown = ", ".join(names[:MAX_NAMED]) + (" …" if len(names) > MAX_NAMED else "")
    return refused(path, text % {"count": len(names), "names": shown})
