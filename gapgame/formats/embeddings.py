"""Vectors of images from a file, to choose the image of the first hint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import IO

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from crosslens_metrics.formats.arrays import ArchiveRefusedError, opened_arrays
from crosslens_metrics.formats.lines import LineFields, LineReader
from crosslens_metrics.formats.names import ImageNames
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.named_vectors import most_central

Vectors = Mapping[str, NDArray[np.float32]]
ZIP_START = b"PK\x03\x04"


def read_embeddings(file: IO[bytes]) -> Vectors:
    """Map image to vector, from a NumPy archive (.npz) or JSON lines with “image” and “vector”.

    The archive holds one array named after each image, or two: “images”, the names, and “vectors”, a row for each.

    Raises
    ------
    FileRefusedError
        Where it is neither, or two vectors have different lengths, or one has no direction.
    """
    file.seek(0)
    is_archive = file.read(len(ZIP_START)) == ZIP_START
    file.seek(0)
    vectors = _archive(file) if is_archive else _lines(file)
    if not vectors:
        raise FileRefusedError(_("The embeddings file has no vectors."))
    length = next(iter(vectors.values())).size
    for number, vector in enumerate(vectors.values(), start=1):
        if vector.size != length or not np.isfinite(vector).all() or not vector.any():
            raise FileRefusedError(
                _("Embedding %(number)s must be %(length)s finite numbers that are not all 0.")
                % {"number": number, "length": length}
            )
    return vectors


def central_of(vectors: ImageNames[NDArray[np.float32]], images: Iterable[Iterable[str]]) -> tuple[int | None, int]:
    """Return the index of the most central image, each given by its possible names, or None; count those missing."""
    vectors_of = [vectors.first(*names) for names in images]
    known = [vector for vector in vectors_of if vector is not None]
    missing = len(vectors_of) - len(known)
    return (None if missing else most_central(np.stack(known))), missing


def _archive(file: IO[bytes]) -> dict[str, NDArray[np.float32]]:
    try:
        with opened_arrays(file) as arrays:
            if set(arrays) == {"images", "vectors"}:
                names, rows = [str(name) for name in arrays["images"]], np.asarray(arrays["vectors"], np.float32)
                if rows.ndim != 2 or len(names) != len(rows):
                    raise FileRefusedError(_("“images” and “vectors” in the embeddings file differ in length."))
                return dict(zip(names, rows, strict=True))
            return {name: np.asarray(array, np.float32).ravel() for name, array in arrays.items()}
    except FileRefusedError:
        raise
    except ArchiveRefusedError as refused:
        raise FileRefusedError(_("Embeddings: %(reason)s") % {"reason": refused}) from refused
    except Exception as error:  # NumPy, zipfile and zlib raise almost any exception on a broken file
        raise FileRefusedError(_("The embeddings file is not a NumPy archive of numbers, or is incomplete.")) from error


def _lines(file: IO[bytes]) -> dict[str, NDArray[np.float32]]:
    vectors = {}
    with LineReader(_("Embeddings")) as reader:
        for record in reader.records(file):
            with reader.line(record):
                fields = LineFields(record.value, example='{"image": …, "vector": […]}')
                vector = fields.list("vector")
                if not vector or not all(
                    isinstance(number, int | float) and not isinstance(number, bool) for number in vector
                ):
                    raise LineError(_("“vector” is not a list of numbers."))
                with np.errstate(over="ignore"):
                    vectors[fields.image()] = np.asarray(vector, np.float32)
    return vectors
