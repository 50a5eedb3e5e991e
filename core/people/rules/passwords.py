"""Passwords that are not allowed besides short ones: this site's own words, and those of breaches elsewhere."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from typing import Any, BinaryIO

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

OWN_WORDS = ("crosslens", "caption", "annotator", "annotate", "rater", "player", "manager", "researcher", "admin")
"""The first guesses of an attacker here; docs/security.md has them too."""
MIN_OTHER_LETTERS = 4
DIGEST_LENGTH = 40
LINE = re.compile(rb"[0-9A-Fa-f]{40}(:\d+)?\r?\n?")
PLACES_LOOKED_AT = 100

log = logging.getLogger(__name__)


class OwnWordsValidator:
    """Refuses words of this site with nothing but some digits and signs around them."""

    def validate(self, password: str, user: Any = None) -> None:
        others = re.sub("|".join(OWN_WORDS), "", password.casefold())
        if others != password.casefold() and sum(map(str.isalpha, others)) < MIN_OTHER_LETTERS:
            raise ValidationError(
                _("This password is too easy to guess, because it consists of words from this site. Choose another."),
                code="password_own",
            )

    def get_help_text(self) -> str:
        return _("Your password can’t consist of words from this site, for example “crosslens” or “annotator”.")


class BreachedPasswordValidator:
    """Refuses passwords from a sorted file of SHA-1 digests, one a line, as Have I Been Pwned publishes them."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def validate(self, password: str, user: Any = None) -> None:
        digest = sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
        try:
            is_breached = file_has_digest(self.path, digest)
        except OSError as error:
            # It existed at the start. People must be able to change a password meanwhile.
            log.error("BREACHED_PASSWORDS cannot be read, so that new passwords are not looked up in it: %s", error)
            return
        if is_breached:
            raise ValidationError(
                _("This password has appeared in a data breach at another site. Choose one that you use nowhere else."),
                code="password_breached",
            )

    def get_help_text(self) -> str:
        return _("Your password can’t be one that has appeared in a data breach.")


def file_has_digest(path: Path, digest: str) -> bool:
    """Return whether a line of the sorted file begins with `digest`, in capitals. Reads forty lines of forty
    gigabytes."""
    wanted = digest.encode()
    with path.open("rb") as file:
        # A matching line begins at `low` or after it, and before `high`.
        low, high = 0, _size_of(file)
        while low < high:
            middle = (low + high) // 2
            line = _line_from(file, middle)
            listed_digest = line[:DIGEST_LENGTH].upper()
            if listed_digest == wanted:
                return True
            if not line or listed_digest > wanted or file.tell() - len(line) >= high:
                high = middle
            else:
                low = file.tell()
    return False


def fault_of(path: Path) -> str | None:
    """Return why `path` is no sorted file of digests, as the end of a sentence; None if it seems to be one."""
    try:
        with path.open("rb") as file:
            digests = []
            for line in _some_lines(file):
                if not LINE.fullmatch(line):
                    return "has lines that do not begin with a SHA-1 digest"
                digests.append(line[:DIGEST_LENGTH].upper())
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not digests:
        return "is empty"
    return None if digests == sorted(digests) else "is not sorted by digest"


def _some_lines(file: BinaryIO) -> Iterator[bytes]:
    size = _size_of(file)
    places = sorted({size * place // PLACES_LOOKED_AT for place in range(PLACES_LOOKED_AT)}) if size else []
    return (line for line in (_line_from(file, place) for place in places) if line)


def _line_from(file: BinaryIO, place: int) -> bytes:
    """Return the first line beginning at `place` or after it, or nothing; leave the file's position after it."""
    file.seek(max(0, place - 1))
    if place:
        file.readline(1 << 10)
    return file.readline(1 << 10)


def _size_of(file: BinaryIO) -> int:
    return file.seek(0, os.SEEK_END)
