"""Which of several vectors stands for them all."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

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
