"""Pseudonyms of people in data that leaves the installation."""

from __future__ import annotations

from django.db.models import Model
from django.utils.crypto import salted_hmac

DIGITS = 12


def pseudonym(project: Model, person_id: int) -> str:
    """Return a person's pseudonym in exports: stable within a project, different in the next, not reversible.

    It depends on SECRET_KEY and changes with it.
    """
    # The name is of where the first exports were made: another one would change all pseudonyms.
    digest = salted_hmac("annotation.exports.pseudonym", f"{project.pk}:{person_id}", algorithm="sha256").hexdigest()
    # A letter first, so that no spreadsheet takes it for a number.
    return f"p{digest[:DIGITS]}"
