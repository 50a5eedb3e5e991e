"""Word vectors and files of vectors, as options name them."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import CommandError
from django.utils import timezone

from core.languages.models import Language
from crosslens_metrics.formats.word_vectors import WordVectorFileError, vectors_in
from crosslens_metrics.word_vectors import MalformedTableError, WordVectorSource
from research.inference.models import WordVectorSet
from research.inference.rules.word_vectors import PACKAGED
from research.inference.selectors.word_vectors import WordVectorsUnavailableError, vectors_of
from research.inference.services.word_vectors import import_packaged

NO_VECTORS = "none"
"""Only where a projection is trained: a metric that compares words needs some."""
VECTORS_HELP = "name or signature of imported word vectors, or a word2vec or GloVe file (.gz too)"


def word_vectors(given: str, *, language: str, copy_to: Path) -> WordVectorSource | None:
    """The word vectors that an option names.

    A file is read into a table in the folder `copy_to`, which is made, or holds the same already.

    Raises
    ------
    CommandError
    """
    if given == NO_VECTORS:
        return None
    try:
        vectors = vectors_in(Path(given), language=language, copy_to=copy_to)
        return vectors_of(_signature(given, language)) if vectors is None else vectors
    except (WordVectorFileError, WordVectorsUnavailableError, MalformedTableError) as refused:
        raise CommandError(str(refused)) from refused


def check_file_to_write(path: Path) -> None:
    """Before hours of work: the file is new, and so can its folder be written to.

    Raises
    ------
    CommandError
    """
    if path.exists():
        raise CommandError(f"{path} already exists. Remove it, or choose another name.")
    if not path.parent.is_dir():
        raise CommandError(f"There is no folder {path.parent}.")


def make_folder_to_write(path: Path) -> None:
    """Make the folder of `--out` before hours of work, unless it is there.

    Raises
    ------
    CommandError
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--out: {path} cannot be made a folder ({error.strerror}). Choose another one.") from error


def _signature(argument: str, language: str) -> str:
    if WordVectorSet.objects.filter(signature=argument).exists():
        return argument
    row = WordVectorSet.objects.filter(name=argument, language_id=language).first()
    if row is None and argument in PACKAGED:
        tongue = Language.objects.filter(pk=language).first()
        row = import_packaged(name=argument, language=tongue, now=timezone.now()).vectors
    if row is None:
        known = ", ".join(WordVectorSet.objects.filter(language_id=language).values_list("name", flat=True)) or "none"
        raise CommandError(
            f"There is neither a file {argument} nor word vectors of that name for {language} (available: {known}). "
            f"Import them with import_word_vectors, or use packaged ones: {', '.join(PACKAGED)}."
        )
    return row.signature
