"""What a command takes and returns, from a shell or from a page, and options that commands share."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from crosslens_metrics.text import NORMALISED_BY_DEFAULT, Tokenizer

Write = Callable[[str], object]
"""Takes a line, without its end."""


class CommandFailedError(Exception):
    """The command cannot do what was asked; says why and what to do."""


class CommandReport(Protocol):
    def as_json(self) -> dict[str, Any]: ...
    def lines(self, *, digits: int) -> Iterable[str]: ...


def as_json(value: object) -> str:
    """JSON for programs: indented, unrounded, without NaN."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)


def write_report(write: Write, report: CommandReport, *, digits: int, for_programs: bool) -> None:
    """Write lines rounded to `digits`, or JSON with values as they are."""
    if for_programs:
        write(as_json(report.as_json()))
        return
    for line in report.lines(digits=digits):
        write(line)


DEFAULT_LANGUAGE = "en"


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """The type of an option that takes whole numbers from `least` to `most`."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise ArgumentTypeError(f"must be a whole number from {least:,} to {most:,}, not {text}")
        return value

    return number


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
