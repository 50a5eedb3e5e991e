"""What commands have in common: their arguments, and the translator that they load."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from core.languages.models import Language
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.formats.word_vectors import WordVectorFileError, vectors_in
from crosslens_metrics.word_vectors import MalformedTableError, WordVectorSource
from research.inference.backends import registry
from research.inference.backends.captioners import (
    BackendDownError,
    BackendSettingsError,
    Decoding,
    LoadedTranslator,
    ModelSpec,
)
from research.inference.backends.encoders import ExtraMissingError
from research.inference.models import WordVectorSet
from research.inference.selectors.word_vectors import WordVectorsUnavailableError, vectors_of
from research.inference.services import worker_status
from research.inference.services.word_vectors import PACKAGED, import_packaged

NO_VECTORS = "none"
"""Only where a projection is trained: a metric that compares words needs some."""
VECTORS_HELP = "name or signature of imported word vectors, or a word2vec or GloVe file (.gz too)"


def word_vectors(given: str, *, language: str, copy_to: Path) -> WordVectorSource | None:
    """The word vectors that an option names.

    A file is read into a table in the folder `copy_to`, which is made, or holds the same already.

    Raises CommandError.
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

    Raises CommandError.
    """
    if path.exists():
        raise CommandError(f"{path} already exists. Remove it, or choose another name.")
    if not path.parent.is_dir():
        raise CommandError(f"There is no folder {path.parent}.")


def make_folder_to_write(path: Path) -> None:
    """Make the folder of `--out` before hours of work, unless it is there.

    Raises CommandError.
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


@dataclass(frozen=True)
class LoadedTranslation:
    translation: LoadedTranslator
    spec: ModelSpec
    decoding: Decoding


def add_translator_arguments(parser: ArgumentParser) -> None:
    usual = Decoding()
    parser.add_argument("--backend", default="seq2seq", help="kind of translator; default: seq2seq")
    parser.add_argument("--source", required=True, help="folder, owner/name@COMMIT of the hub, or name of an endpoint")
    parser.add_argument("--options", type=json.loads, default={}, metavar="JSON", help="of docs/models.md")
    parser.add_argument("--beams", type=int, default=usual.beams)
    parser.add_argument("--max-tokens", type=int, default=usual.max_tokens)


@contextmanager
def load_translator(given: Mapping[str, Any], *, to: Sequence[str]) -> Iterator[LoadedTranslation]:
    """Load the translator that the arguments name.

    Raises CommandError also for what a caller's block raises about the translator or a file.
    """
    worker_status.prepare_process(processes=1)
    decoding = Decoding(beams=given["beams"], max_tokens=given["max_tokens"])
    spec = ModelSpec(given["source"], given["source"], given["options"])
    try:
        backend = registry.translator_named(given["backend"])
        backend.check(spec)
        registry.check_decoding(backend, spec, decoding)
        lacking = sorted(set(to) - set(backend.languages(spec)))
        if lacking:
            raise CommandError(f"The translator has no code for {', '.join(lacking)}.")
        translation = backend.load(spec)
        try:
            yield LoadedTranslation(translation, spec, decoding)
        finally:
            translation.close()
    except (BackendDownError, BackendSettingsError, ExtraMissingError, FileProblemsError) as error:
        raise CommandError(str(error)) from error
