"""Open the vectors of an embedding set, memory-mapped and kept here; find nearest images and representatives.

Vectors that lie in object storage or can be computed again are cached on this machine. A file is named by a digest of
what it holds, so that it is never out of date. If there are too many, the least recently used are
deleted; a process that has one open can still read it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.core.files.storage import default_storage
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from core.images.models import Collection
from core.people.models import Project
from core.people.permissions import usable_in
from crosslens_metrics.named_vectors import most_central
from research.inference.models import CaptioningModel, EmbeddingSet, Encoder

MAX_CACHED_BYTES = 16 << 30
UNFINISHED = ".unfinished-"
ABANDONED_AFTER_S = 24 * 3600
VECTORS_FILE, IDS_FILE = "vectors.npy", "ids.npy"
COPY_BYTES = 1 << 20
BLOCK_NUMBERS = 1 << 18
"""How many numbers are looked at at once: 1 MiB of 32 bits, which fits into a processor's cache."""
MAX_OPEN = 8
MAX_NEIGHBOURS = 10
_opening = threading.Lock()


def cached_file(name: str, make: Callable[[Path], None]) -> Path:
    """Return the file of this name; `make` writes it if it is missing. It is never read half-written."""
    path = cache_folder() / name
    try:
        os.utime(path)
        return path
    except FileNotFoundError:
        handle, unfinished = tempfile.mkstemp(dir=cache_folder(), prefix=UNFINISHED)
        os.close(handle)
    try:
        make(Path(unfinished))
        Path(unfinished).replace(path)
    finally:
        Path(unfinished).unlink(missing_ok=True)
    _tidy(keep=path)
    return path


def working_file() -> Path:
    """Create an empty temporary file; the caller removes it."""
    handle, path = tempfile.mkstemp(dir=cache_folder(), prefix=UNFINISHED)
    os.close(handle)
    return Path(path)


def cache_folder() -> Path:
    path = Path(settings.VAR) / "vectors-cache"
    path.mkdir(parents=True, exist_ok=True)
    return path


def _tidy(*, keep: Path) -> None:
    now, total = time.time(), 0
    files = []
    for path in cache_folder().iterdir():
        # Another process may tidy too.
        with suppress(FileNotFoundError):
            stat = path.stat()
            if path.name.startswith(UNFINISHED):
                if stat.st_mtime < now - ABANDONED_AFTER_S:
                    path.unlink()
                continue
            total += stat.st_size
            if path != keep:
                files.append((stat.st_mtime, stat.st_size, path))
    for _used, size, path in sorted(files):
        if total <= MAX_CACHED_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= size


_open: dict[str, CollectionEmbeddings] = {}


class EmbeddingsUnavailableError(Exception):
    """The vectors are not complete yet, or their files are missing or changed; the message says which."""


@dataclass(frozen=True)
class CollectionEmbeddings:
    """Vectors of images, or of their captions."""

    ids: NDArray[np.int64]
    """Shape (n,): primary keys of the images, in rising order."""
    vectors: NDArray[Any]
    """Shape (n, dimensions): mapped from the file, in the order of the ids."""

    def places(self, images: Sequence[int]) -> NDArray[np.intp]:
        """Find the position of each image's vector; -1 if it has none."""
        wanted = np.asarray(images, dtype=np.int64)
        if not len(self.ids):
            return np.full(len(wanted), -1, dtype=np.intp)
        places = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return np.where(self.ids[places] == wanted, places, -1)

    def rows(self, images: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of images that all have one, shape (n_images, dimensions).

        Raises KeyError.
        """
        places = self.places(images)
        if (places < 0).any():
            raise KeyError(int(np.asarray(images)[places < 0][0]))
        return self.vectors[places].astype(np.float32)


@dataclass(frozen=True)
class NearImage:
    """`similarity` is the cosine, in [-1, 1]."""

    image: int
    similarity: float


def open_set(embeddings: EmbeddingSet) -> CollectionEmbeddings:
    """Open the vectors of a complete set. From object storage, they are copied to this machine once.

    Raises EmbeddingsUnavailableError.
    """
    if not embeddings.file:
        raise EmbeddingsUnavailableError(_("These vectors are still being computed."))
    with _opening:
        if embeddings.digest not in _open:
            while len(_open) >= MAX_OPEN:
                del _open[next(iter(_open))]
            _open[embeddings.digest] = _opened(embeddings)
        return _open[embeddings.digest]


def nearest(embeddings: CollectionEmbeddings, image: int, *, count: int = MAX_NEIGHBOURS) -> list[NearImage]:
    """Find the images whose vectors have the greatest cosine with that of `image`, the nearest first, without itself.

    Exact: all are looked at, some at a time, in memory that does not grow with them. Of equally near ones those with
    the lower primary keys come. A vector of zeros is near to nothing, and has no neighbours.

    Raises KeyError where the image has no vector.
    """
    query = embeddings.rows([image])[0]
    length = np.sqrt(np.dot(query, query))
    if not length or count < 1:
        return []
    query /= length
    best_cosines = np.empty(0, dtype=np.float32)
    ids = np.empty(0, dtype=np.int64)
    step = max(1, BLOCK_NUMBERS // len(query))
    for start in range(0, len(embeddings.ids), step):
        block = np.asarray(embeddings.vectors[start : start + step], dtype=np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
        with np.errstate(invalid="ignore", divide="ignore"):
            cosines = (block @ query) / lengths
        some = embeddings.ids[start : start + step]
        kept = (lengths > 0) & (some != image)
        best_cosines, ids = np.concatenate([best_cosines, cosines[kept]]), np.concatenate([ids, some[kept]])
        # Sorted by nearness and then by key, so that what comes does not depend on where blocks begin.
        best = (
            np.lexsort((ids, -best_cosines))[:count]
            if len(best_cosines) <= 4 * count
            else _best(best_cosines, ids, count)
        )
        best_cosines, ids = best_cosines[best], ids[best]
    cosines = np.clip(best_cosines, -1.0, 1.0)
    return [NearImage(int(one), float(cosine)) for one, cosine in zip(ids, cosines, strict=True)]


def representative(embeddings: CollectionEmbeddings, images: Sequence[int]) -> int:
    """Find the image with the least mean cosine distance to the others; all must have a vector. Returns its position.

    Raises KeyError where one has no vector. Raises ValueError where a vector has no direction.
    """
    return most_central(embeddings.rows(images))


def whole_sets(
    *,
    encoder: Encoder | None = None,
    collections: Iterable[Collection] | None = None,
    captions_of: CaptioningModel | None = None,
    language: str | None = None,
    project: Project | int | None = None,
) -> QuerySet[EmbeddingSet]:
    """List complete sets, the newest first: of images, or of a model's captions in a language.

    Those that `project` may use, where it is given.
    """
    usable = [usable_in(project, path) for path in ("run__", "run__collection__", "encoder__")]
    sets = EmbeddingSet.objects.exclude(file="").filter(*usable, captions_of=captions_of, language=language)
    if encoder is not None:
        sets = sets.filter(encoder=encoder)
    if collections is not None:
        sets = sets.filter(run__collection__in=list(collections))
    return sets.select_related("encoder", "run__collection").order_by("-pk")


def newest_covering(
    images: Sequence[int], sets: Iterable[EmbeddingSet]
) -> tuple[EmbeddingSet, CollectionEmbeddings] | None:
    """Find the first of `sets` with vectors of all `images`; sets whose files are missing are skipped."""
    for one in sets:
        try:
            opened = open_set(one)
        except EmbeddingsUnavailableError:
            continue
        if (opened.places(images) >= 0).all():
            return one, opened
    return None


def digest_of(ids: NDArray[np.int64], vectors: NDArray[Any]) -> str:
    """Compute SHA-256 over the numbers, independent of the file format."""
    digest = hashlib.sha256(f"{vectors.dtype.str} {vectors.shape}\0".encode())
    digest.update(np.ascontiguousarray(ids, dtype="<i8").tobytes())
    step = max(1, BLOCK_NUMBERS // max(1, vectors.shape[1]))
    for start in range(0, len(vectors), step):
        digest.update(np.ascontiguousarray(vectors[start : start + step]).tobytes())
    return digest.hexdigest()


def _best(cosines: NDArray[np.float32], ids: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` greatest, in order. Sorting whole blocks would take most of the time."""
    least = np.partition(cosines, len(cosines) - count)[len(cosines) - count]
    places = np.flatnonzero(cosines >= least)
    return places[np.lexsort((ids[places], -cosines[places]))][:count]


def _opened(embedding_set: EmbeddingSet) -> CollectionEmbeddings:
    folder = embedding_set.file.rpartition("/")[0]
    try:
        vectors = np.load(_on_this_machine(embedding_set.file, f"{embedding_set.digest}-{VECTORS_FILE}"), mmap_mode="r")
        ids = np.load(_on_this_machine(f"{folder}/{IDS_FILE}", f"{embedding_set.digest}-{IDS_FILE}"))
    except (OSError, ValueError, EOFError) as error:
        raise EmbeddingsUnavailableError(
            _("The vectors of set %(number)s cannot be read (%(why)s). Compute them again.")
            % {"number": embedding_set.pk, "why": error}
        ) from error
    shape, kind = (embedding_set.rows, embedding_set.dimensions), embedding_set.precision
    if vectors.shape != shape or vectors.dtype.name != kind or ids.shape != shape[:1]:
        raise EmbeddingsUnavailableError(
            _("The files of set %(number)s do not hold the vectors that were computed. Compute them again.")
            % {"number": embedding_set.pk}
        )
    return CollectionEmbeddings(ids=ids, vectors=vectors)


def _on_this_machine(name: str, digest: str) -> Path:
    try:
        return Path(default_storage.path(name))
    except NotImplementedError:
        return cached_file(digest, lambda path: _copy(name, path))


def _copy(name: str, path: Path) -> None:
    with default_storage.open(name) as source, path.open("wb") as target:
        while chunk := source.read(COPY_BYTES):
            target.write(chunk)
