"""`document_frequencies REFERENCES FILE`: in how many images n-grams stand, to score other captions by."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from itertools import chain
from pathlib import Path

from crosslens_metrics.commands.running import (
    DEFAULT_LANGUAGE,
    CommandFailedError,
    Write,
    add_text_arguments,
    whole_number,
)
from crosslens_metrics.document_frequencies import DocumentFrequencies
from crosslens_metrics.formats.captions import references_in
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.java import ToolFailedError, ToolMissingError
from crosslens_metrics.scored_tokens import note_on_spaces
from crosslens_metrics.text import text_version, tokenise_groups

HELP = "Count the n-grams of a corpus of references, for score_captions --frequencies."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("references", type=Path, help="captions of images: COCO, JSON Lines or xm3600")
    parser.add_argument("file", type=Path, help="is written, or replaced")
    add_text_arguments(parser)
    parser.add_argument("--workers", type=whole_number(1, 64), default=1, help="processor cores (default 1)")


def run(options: Namespace, *, write: Write, note: Write) -> None:
    """Write the file of frequencies, and what it holds.

    Raises CommandFailedError.
    """
    try:
        read = references_in(options.references, language=options.language)
        language = options.language or read.language or DEFAULT_LANGUAGE
        groups = tokenise_groups(
            list(read.captions.values()),
            tokenizer=options.tokenizer,
            language=language,
            normalise=options.normalise,
        )
        frequencies = DocumentFrequencies.from_references(
            groups,
            workers=options.workers,
            text=text_version(options.tokenizer, options.normalise, language=language),
        )
        frequencies.save(options.file)
    except (FileProblemsError, ToolMissingError, ToolFailedError) as error:
        raise CommandFailedError(str(error)) from error
    except OSError as error:
        raise CommandFailedError(f"The file {options.file} cannot be written: {error.strerror}.") from error
    for said in note_on_spaces(chain(*groups), tokenizer=options.tokenizer, language=language):
        note(said)
    write(f"{options.file}: {frequencies.documents:,} images, signature {frequencies.signature}.")
