"""Vectors by the name of their image in a file, of images or of projected captions; which of several stands for all."""

from __future__ import annotations

import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.formats.arrays import opened_arrays
from crosslens_metrics.formats.names import ImageNames

ENTRIES = ("keys", "vectors", "signature", "space")


class MalformedVectorsError(ValueError):
    """A file holds no vectors by name, or not those that it should."""


@dataclass(frozen=True)
class NamedVectors:
    """Vectors of images or captions."""

    keys: tuple[str, ...]
    """Length n: names of images; one that has several captions comes several times."""
    vectors: NDArray[np.float32]
    """Shape (n, dimensions)."""
    signature: str
    """Of what made them: an image encoder, a projection."""
    space: str
    """Signature of the image encoder whose features they can be held against; of image features, their own."""

    def __post_init__(self) -> None:
        shape = self.vectors.shape
        if len(shape) != 2 or shape[0] != len(self.keys) or not shape[0]:
            raise MalformedVectorsError(
                f"There are {len(self.keys)} names and vectors of the shape {shape}; each needs one."
            )
        rows = np.flatnonzero(~np.isfinite(self.vectors).all(axis=1))
        if rows.size:
            raise MalformedVectorsError(f"The vector of {self.keys[rows[0]]} is not finite.")

    def rows(self) -> ImageNames[list[int]]:
        """At which places each name comes, in the order of the file."""
        places: dict[str, list[int]] = {}
        for place, key in enumerate(self.keys):
            places.setdefault(key, []).append(place)
        return ImageNames(places)

    def save(self, path: Path) -> None:
        """Write an npz file of four entries: keys, vectors, signature, space. The same content gives the same bytes."""
        partial = path.with_name(f".{path.name}.partial")
        with partial.open("wb") as file:
            np.savez(
                file,
                keys=np.array(self.keys, dtype=np.str_),
                vectors=self.vectors.astype("<f4"),
                signature=np.array(self.signature, dtype=np.str_),
                space=np.array(self.space, dtype=np.str_),
            )
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)


def read_named_vectors(path: Path) -> NamedVectors:
    """Read what `NamedVectors.save` wrote, or numpy's `savez` with the same four entries.

    Raises MalformedVectorsError where the file cannot be read, lacks an entry, or holds another kind of value in it.
    """
    try:
        with opened_arrays(path) as file:
            missing = [entry for entry in ENTRIES if entry not in file]
            if missing:
                raise MalformedVectorsError(f"{path} has no entry {missing[0]}; it needs {', '.join(ENTRIES)}.")
            keys, vectors, signature, space = (file[entry] for entry in ENTRIES)
    except MalformedVectorsError:
        raise
    except OSError as error:
        raise MalformedVectorsError(f"{path} cannot be read ({error.strerror or error}).") from error
    except (ValueError, TypeError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise MalformedVectorsError(f"{path} is not an npz file of vectors ({error}).") from error
    if keys.ndim != 1 or keys.dtype.kind != "U" or vectors.dtype.kind != "f":
        raise MalformedVectorsError(f"{path}: keys must be texts and vectors floating-point numbers.")
    if any(entry.ndim or entry.dtype.kind != "U" for entry in (signature, space)):
        raise MalformedVectorsError(f"{path}: signature and space must be one text each.")
    try:
        return NamedVectors(tuple(keys.tolist()), vectors.astype(np.float32), str(signature), str(space))
    except MalformedVectorsError as error:
        raise MalformedVectorsError(f"{path}: {error}") from error


SAME_WITHIN = 1e-12
"""Distances closer than this are the same: sums of floating-point numbers differ with their order."""


def most_central(vectors: ArrayLike) -> int:
    """The vector with the least mean cosine distance to the others.

    Parameters
    ----------
    vectors : array_like of float, shape (n_vectors, n_dimensions)

    Returns
    -------
    int
        Its place, from 0; of several equally near ones the first. A single vector is its own.

    Raises
    ------
    ValueError
        If there is no vector, or one has no direction (all zeros) or is not finite.

    References
    ----------
    J. Wang et al. (2022), MultiSubs: A Large-scale Multimodal and Multilingual Dataset, LREC, section 4.
    """
    table = np.asarray(vectors, dtype=float)
    if table.ndim != 2 or not len(table):
        raise ValueError("there is no vector, or the vectors are not of one length")
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise ValueError("a vector is zero or not finite, so that it has no direction")
    if len(table) == 1:
        return 0
    unit = table / lengths
    # A sum over all is one over the others and each one's own distance of 0.
    distances = (len(unit) - unit @ unit.sum(axis=0)) / (len(unit) - 1)
    return int(np.flatnonzero(distances <= distances.min() + SAME_WITHIN)[0])
