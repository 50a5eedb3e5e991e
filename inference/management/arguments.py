"""Word vectors and files of vectors, as options name them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from django.core.management.base import CommandError
from django.utils import timezone

from crosslens_metrics.named_vectors import MalformedVectorsError, NamedVectors, read_named_vectors
from crosslens_metrics.word_vectors import (
    MANIFEST,
    MalformedTableError,
    TableWriter,
    Vectors,
    open_table,
    read_manifest,
)
from inference.models import WordVectorSet
from inference.rules.word_vectors import PACKAGED, WordVectorFileError
from inference.selectors.word_vectors import WordVectorsUnavailableError, vectors_of
from inference.services.word_vectors import import_packaged
from languages.models import Language

NO_VECTORS = "none"
"""Only where a projection is trained: a metric that compares words needs some."""
VECTORS_HELP = "name or signature of imported word vectors, or a word2vec or GloVe file (.gz too)"


def word_vectors(given: str, *, language: str, copy_to: Path) -> Vectors | None:
    """The word vectors that an option names.

    A file is read into a table in the folder `copy_to`, which is made, or holds the same already.

    Raises
    ------
    CommandError
    """
    if given == NO_VECTORS:
        return None
    path = Path(given)
    try:
        if path.is_file():
            return _of_file(path, language=language, folder=copy_to)
        if (path / MANIFEST).is_file():
            return open_table(path)
        return vectors_of(_signature(given, language))
    except (WordVectorFileError, WordVectorsUnavailableError, MalformedTableError) as refused:
        raise CommandError(str(refused)) from refused


def named_vectors(path: Path, *, option: str) -> NamedVectors:
    """The file of vectors that an option names.

    Raises
    ------
    CommandError
    """
    try:
        return read_named_vectors(path)
    except MalformedVectorsError as error:
        raise CommandError(f"{option}: {error}") from error


def check_file_to_write(path: Path) -> None:
    """Before hours of work: the file is new, and so can its folder be written to.

    Raises
    ------
    CommandError
    """
    if path.exists():
        raise CommandError(f"{path} is there already. Remove it, or choose another name.")
    if not path.parent.is_dir():
        raise CommandError(f"There is no folder {path.parent}.")


def _signature(given: str, language: str) -> str:
    if WordVectorSet.objects.filter(signature=given).exists():
        return given
    row = WordVectorSet.objects.filter(name=given, language_id=language).first()
    if row is None and given in PACKAGED:
        tongue = Language.objects.filter(pk=language).first()
        row = import_packaged(name=given, language=tongue, now=timezone.now()).vectors
    if row is None:
        there = ", ".join(WordVectorSet.objects.filter(language_id=language).values_list("name", flat=True)) or "none"
        raise CommandError(
            f"There is neither a file {given} nor word vectors of that name for {language} (there are: {there}). "
            f"Import them with import_word_vectors, or name packaged ones: {', '.join(PACKAGED)}."
        )
    return row.signature


def _of_file(path: Path, *, language: str, folder: Path) -> Vectors:
    # Loads gensim, which nothing but an import needs.
    from inference.formats.word_vectors import copy_file, format_of

    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".vectors-"))
    try:
        copy_file(
            path, format_of(path), lambda dimensions: TableWriter(unfinished, dimensions=dimensions, language=language)
        )
        if not folder.exists():
            unfinished.rename(folder)
        elif read_manifest(folder).signature != read_manifest(unfinished).signature:
            raise CommandError(f"{folder} holds other word vectors than {path}. Choose another folder.")
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return open_table(folder)
