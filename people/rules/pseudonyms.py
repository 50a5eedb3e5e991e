"""How people are called in what leaves the installation."""

from __future__ import annotations

from django.db.models import Model
from django.utils.crypto import salted_hmac

DIGITS = 12


def pseudonym(project: Model, person_id: int) -> str:
    """How a person is called in exports: the same in one project, another in the next, no way back to the person.

    It hangs on SECRET_KEY and changes with it.
    """
    # The name is of where the first exports were made: with another one nobody would be called as in older files.
    digest = salted_hmac("annotation.exports.pseudonym", f"{project.pk}:{person_id}", algorithm="sha256").hexdigest()
    # A letter first, so that no spreadsheet takes it for a number.
    return f"p{digest[:DIGITS]}"
