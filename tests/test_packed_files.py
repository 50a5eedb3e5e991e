"""Files that unpack to a thousand times their size: every reader stops before they fill the memory."""

from __future__ import annotations

import gzip
import importlib
import io
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosslens_metrics.document_frequencies import DocumentFrequencies
from crosslens_metrics.formats import limits
from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError
from crosslens_metrics.formats.word_vectors import FileFormat, WordVectorFileError, copy_file
from crosslens_metrics.named_vectors import MalformedVectorsError, read_named_vectors
from crosslens_metrics.word_vectors import TableWriter
from gapgame.formats.sources import read_embeddings
from gapgame.formats.task_images import features_of
from parallel_text.config import Inventory, Text
from parallel_text.imageability import read_ratings
from parallel_text.images import ImageManifest
from parallel_text.inventories import read_inventory
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.readers import read_pairs
from tests.memory import peak_of

UNPACKED_BYTES = 24 * 10**6
MOST_BYTES = 12 * 10**6
"""Of memory, for reading one of them."""


@cache
def one_line(start: bytes = b"", filling: bytes = b"x") -> bytes:
    return gzip.compress(start + filling * (UNPACKED_BYTES // len(filling)), 6)


@cache
def arrays() -> bytes:
    """What every reader of archives looks for, with one array that is huge."""
    file = io.BytesIO()
    row = np.zeros((1, UNPACKED_BYTES // 4), np.float32)
    np.savez_compressed(file, keys=["a"], vectors=row, signature="s", space="s", format=1, documents=1, words=row)
    return file.getvalue()


def read_sentences(path: Path, form: str) -> None:
    list(read_pairs(Text("es", form, (path.name,)), lambda _name: path, LineProblems()))


def read_word_vectors(path: Path) -> None:
    folder = path.parent / "table"
    folder.mkdir()
    copy_file(path, FileFormat.GLOVE, lambda size: TableWriter(folder, dimensions=size, language="en"))


READERS: dict[str, tuple[Callable[[], bytes], str, Callable[[Path], Any], type[Exception]]] = {
    "embeddings of a game": (arrays, "a.npz", lambda path: read_embeddings(path.open("rb")), FileRefusedError),
    "features of images": (arrays, "a.npz", read_named_vectors, MalformedVectorsError),
    "features of a task": (arrays, "a.npz", features_of, FileProblemsError),
    "document frequencies": (arrays, "a.npz", DocumentFrequencies.load, ValueError),
    "sentences": (one_line, "a.tsv.gz", lambda path: read_sentences(path, "tsv"), CorpusError),
    **{
        f"a translation memory of {kind}": (pack, "a.tmx.gz", lambda path: read_sentences(path, "tmx"), CorpusError)
        for kind, pack in {
            "one sentence": lambda: one_line(b"<tmx><body><tu><tuv><seg>"),
            "one tag": lambda: one_line(b'<tmx><body><tu a="'),
            "one unit": lambda: one_line(b"<tmx><body><tu>", b"<tuv><seg>x</seg></tuv>"),
        }.items()
    },
    "a manifest of images": (
        one_line,
        "a.jsonl.gz",
        lambda path: list(ImageManifest(path, path.name, None, frozenset(), LineProblems()).lines()),
        CorpusError,
    ),
    "a sense inventory": (
        one_line,
        "a.tsv.gz",
        lambda path: list(read_inventory(Inventory("es", path.name), path, LineProblems())),
        CorpusError,
    ),
    "ratings of imageability": (
        one_line, "a.csv.gz", lambda path: read_ratings(path, LineProblems(), name=path.name), CorpusError
    ),
    "word vectors": (one_line, "a.txt.gz", read_word_vectors, WordVectorFileError),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_what_unpacks_to_a_thousand_times_its_size_is_refused_in_little_memory(name, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED_WORTH_A_LOOK_BYTES", 10**6)
    pack, file_name, read, error = READERS[name]
    path = tmp_path / file_name
    path.write_bytes(pack())
    # What a reader imports when it is first used is none of the file's memory.
    importlib.import_module("gensim.utils")
    assert path.stat().st_size * 100 < UNPACKED_BYTES

    def refused() -> None:
        with pytest.raises(error):
            read(path)

    _nothing, peak = peak_of(refused)
    assert peak < MOST_BYTES


def test_an_array_that_says_to_be_larger_than_it_is_is_not_read(tmp_path):
    array = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(array, header)
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vectors.npy", array.getvalue() + b"\0" * 100)
    with pytest.raises(MalformedVectorsError, match="“vectors” is cut off"):
        read_named_vectors(path)
