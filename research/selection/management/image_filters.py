"""The option `--images` of commands."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError
from django.db.models import QuerySet

from core.images.models import CollectionImage
from core.languages.models import Language
from core.people.models import Project
from research.selection.rules.image_filters import ALL_IMAGES, EXAMPLES, ImageFilter, ImageFilterError, parse
from research.selection.selectors.subsets import images_matching


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


def check_some_images(
    filter: ImageFilter, *, project: Project, languages: Iterable[Language], collections: QuerySet[Any]
) -> None:
    """Refuse a filter that leaves no image of `collections`, a query for them, in any of `languages`.

    Raises CommandError. Raises ImageFilterError if the filter cannot be applied to a language.
    """
    entries, languages = CollectionImage.objects.filter(collection__in=collections), list(languages)
    if filter.is_all or not languages:
        return
    for language in languages:
        if entries.filter(image__in=images_matching(filter, project=project, language=language)).exists():
            return
    raise CommandError(f"No image is left by --images {filter}. Check the places and subsets of {project.slug!r}.")


@contextmanager
def image_filter_errors() -> Iterator[None]:
    """Raise an ImageFilterError, of an unknown subset for one, as CommandError."""
    try:
        yield
    except ImageFilterError as error:
        raise CommandError(f"--images: {error}") from error
