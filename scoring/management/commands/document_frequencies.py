"""`manage.py document_frequencies REFERENCES FILE`: in how many images n-grams stand, to score other captions by."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crosslens_metrics.document_frequencies import DocumentFrequencies
from crosslens_metrics.formats.captions import references_in
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.java import ToolFailedError, ToolMissingError
from crosslens_metrics.text import text_version, tokenise_groups
from people.management.arguments import whole_number
from scoring.management.arguments import DEFAULT_LANGUAGE, add_text_arguments


class Command(BaseCommand):
    help = "Count the n-grams of a corpus of references, for score_captions --frequencies."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("references", type=Path, help="captions of images: COCO, JSON Lines or xm3600")
        parser.add_argument("file", type=Path, help="is written, or replaced")
        add_text_arguments(parser)
        parser.add_argument("--workers", type=whole_number(1, 64), default=1, help="processor cores (default 1)")

    def handle(self, *, references: Path, file: Path, language: str | None, **options: Any) -> None:
        try:
            read = references_in(references, language=language)
            groups = tokenise_groups(
                list(read.captions.values()),
                tokenizer=options["tokenizer"],
                language=language or read.language or DEFAULT_LANGUAGE,
                normalise=options["normalise"],
            )
            frequencies = DocumentFrequencies.from_references(
                groups,
                workers=options["workers"],
                text=text_version(options["tokenizer"], options["normalise"]),
            )
            frequencies.save(file)
        except (FileProblemsError, ToolMissingError, ToolFailedError) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"The file {file} cannot be written: {error.strerror}.") from error
        self.stdout.write(f"{file}: {frequencies.documents:,} images, signature {frequencies.signature}.")
