"""`manage.py score_captions CANDIDATES REFERENCES`: automatic metrics of captions in files."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from core.people.management.library import LibraryCommand, as_command_errors
from crosslens_metrics.commands import score_captions
from research.inference.management.arguments import VECTORS_HELP, word_vectors


class Command(LibraryCommand):
    """As in the library; `--vectors` may also name imported word vectors, which are looked up in the database."""

    library = score_captions

    def add_arguments(self, parser: ArgumentParser) -> None:
        score_captions.add_arguments(parser, vectors_help=VECTORS_HELP)

    def handle(self, **options: Any) -> None:
        with as_command_errors():
            score_captions.run(
                Namespace(**options), write=self.stdout.write, note=self.stderr.write, open_vectors=word_vectors
            )
