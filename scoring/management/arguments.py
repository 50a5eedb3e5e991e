"""Options of commands about text."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction

from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from crosslens_metrics.text import NORMALISED_BY_DEFAULT, Tokenizer

DEFAULT_LANGUAGE = "en"


def language_tag(text: str) -> str:
    try:
        return canonical_tag(text)
    except MalformedTagError as error:
        raise ArgumentTypeError(str(error)) from error


def add_text_arguments(parser: ArgumentParser) -> None:
    """How captions become tokens: `tokenizer`, `language` (or None) and `normalise` (or None)."""
    kinds = [str(kind) for kind in Tokenizer]
    normalised = " and ".join(sorted(NORMALISED_BY_DEFAULT))
    parser.add_argument("--tokenizer", choices=kinds, default=str(Tokenizer.WHITESPACE), help="default %(default)s")
    parser.add_argument(
        "--language",
        type=language_tag,
        metavar="TAG",
        help=f"of the captions, and which to read of several (default: what the files say, or {DEFAULT_LANGUAGE})",
    )
    parser.add_argument(
        "--normalise",
        action=BooleanOptionalAction,
        help=f"lower-case and remove punctuation (without either: only with {normalised})",
    )
