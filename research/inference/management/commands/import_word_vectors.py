"""`manage.py import_word_vectors FILE --name NAME --language TAG --format FORMAT`, `--packaged NAME`, `--check …`."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.languages.models import Language
from core.people.management.arguments import checked_file, checked_text, language_of
from crosslens_metrics.formats.word_vectors import FileFormat, WordVectorFileError
from research.inference.models import WordVectorSet
from research.inference.selectors.word_vectors import WordVectorsUnavailableError
from research.inference.services.word_vectors import (
    PACKAGED,
    ImportedVectors,
    check_vectors,
    import_packaged,
    import_table,
)


class Command(BaseCommand):
    help = "Import word vectors from a word2vec or GloVe file, or from an installed package; or check imported ones."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, nargs="?", help="file of vectors, may be compressed (.gz)")
        parser.add_argument("--name", help="name of the vectors, as shown where seasons are created")
        parser.add_argument("--language", help="tag of the words' language, for example en")
        parser.add_argument("--format", choices=[str(known) for known in FileFormat], help="format of the file")
        parser.add_argument("--packaged", choices=[*PACKAGED], help="use vectors from a package instead of a file")
        parser.add_argument("--check", metavar="SIGNATURE", help="check every byte of imported vectors")

    def handle(self, *, file: Path | None, packaged: str | None, check: str | None, **options: Any) -> None:
        if sum(option is not None for option in (file, packaged, check)) != 1:
            raise CommandError("Give one of these: a file, --packaged NAME, --check SIGNATURE.")
        language = None if options["language"] is None else language_of(options["language"])
        try:
            if check is not None:
                self.stdout.write(f"{_line(check_vectors(signature=check))}: nothing was changed.")
                return
            if file is None:
                imported = import_packaged(name=packaged or "", language=language, now=timezone.now())
            else:
                imported = _import_file(file, language, options["name"], options["format"])
        except (WordVectorFileError, WordVectorsUnavailableError) as refused:
            raise CommandError(str(refused)) from refused
        except OSError as error:
            raise CommandError(f"{error.filename or 'The folder of the vectors'}: {error.strerror}") from error
        self._print(imported)

    def _print(self, imported: ImportedVectors) -> None:
        vectors = imported.vectors
        self.stdout.write(f"{'Imported' if imported.is_new else 'Already there'}: {_line(vectors)}.")
        if imported.duplicates:
            self.stdout.write(f"{imported.duplicates} words occurred twice. The first vector of each was used.")
        if imported.zeros:
            self.stdout.write(f"{imported.zeros} words with all-zero vectors were left out.")
        self.stdout.write(f"Signature: {vectors.signature}")


def _import_file(file: Path, language: Language | None, name: str | None, file_format: str | None) -> ImportedVectors:
    missing = [key for key, value in (("name", name), ("language", language), ("format", file_format)) if not value]
    if missing or name is None or language is None:
        raise CommandError(f"--{missing[0]} is missing.")
    name = checked_text(name, option="--name", longest=WordVectorSet._meta.get_field("name").max_length)
    checked_file(file)
    return import_table(
        path=file, name=name, language=language, format=FileFormat(str(file_format)), now=timezone.now()
    )


def _line(vectors: WordVectorSet) -> str:
    words = "any word" if vectors.words is None else f"{vectors.words:,} words"
    return f"{vectors.name} ({vectors.language_id}), {words} × {vectors.dimensions}"
