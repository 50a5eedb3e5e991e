"""Values of options: checked as they are read, or looked up."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable

from django.core.management.base import CommandError

from corpus.models import Collection
from languages.models import Language
from languages.rules import MalformedTag
from languages.selectors import language_by_tag


def whole_number(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise ArgumentTypeError(f"must be a whole number from {least:,} to {most:,}, not {text}")
        return value

    return number


def language_of(tag: str) -> Language:
    try:
        found = language_by_tag(tag)
    except MalformedTag as error:
        raise CommandError(str(error)) from error
    if found is None:
        raise CommandError(f"There is no language {tag} in the table; add it first.")
    return found


def collection_named(name: str) -> Collection:
    """By its slug, else by its name."""
    found = Collection.objects.filter(slug=name).first() or Collection.objects.filter(name=name).first()
    if found is None:
        raise CommandError(f"There is no collection {name}.")
    return found
