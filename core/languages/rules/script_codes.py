"""Read the codes of scripts, alone and in language tags."""

from __future__ import annotations

import re

_SCRIPT = re.compile(r"[A-Z][a-z]{3}")


class MalformedScriptError(ValueError):
    """Says what was given, and what a script code looks like."""


def canonical_script(code: str) -> str:
    """An ISO 15924 code in its usual case: `latn` is `Latn`.

    Raises
    ------
    MalformedScriptError
        For anything but four letters.
    """
    cased = code.strip().capitalize()
    if not _SCRIPT.fullmatch(cased):
        raise MalformedScriptError(f"{code!r} is not a script; write its ISO 15924 code, four letters such as Latn.")
    return cased


def script_of_tag(canonical: str) -> str | None:
    """The script that a canonical tag names, if it does: `Cyrl` of `sr-Cyrl-RS`."""
    for part in canonical.split("-")[1:]:
        if len(part) == 1:
            return None
        if _SCRIPT.fullmatch(part):
            return part
    return None
