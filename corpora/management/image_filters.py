"""The option `--images` of commands."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from corpora.rules.image_filters import ALL_IMAGES, EXAMPLES, ImageFilter, ImageFilterError, parse


def image_filter(text: str) -> ImageFilter:
    try:
        return parse(text)
    except ImageFilterError as error:
        raise ArgumentTypeError(str(error)) from error


def add_images(parser: ArgumentParser) -> None:
    """Add `--images SPEC`; its value is an `ImageFilter`, by default of all images."""
    parser.add_argument(
        "--images",
        type=image_filter,
        default=ALL_IMAGES,
        metavar="SPEC",
        help=f"only these images: {EXAMPLES}; all of several, separated by commas, must hold (default: all images)",
    )


@contextmanager
def image_filter_errors() -> Iterator[None]:
    """Raise an ImageFilterError, of an unknown subset for one, as CommandError."""
    try:
        yield
    except ImageFilterError as error:
        raise CommandError(f"--images: {error}") from error
