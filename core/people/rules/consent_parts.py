"""Parts of a text that only people with some roles read: from a line {FOR annotator, rater} to a line {END}."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from core.people.rules.roles import ANNOTATOR, PLAYER, RATER

_BEGINNING = re.compile(r"\s*\{FOR ([\w-]+(?:\s*,\s*[\w-]+)*)\}\s*")
_END = re.compile(r"\s*\{END\}\s*")
_DIRECTIONS = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
"""Invisible signs of direction, which come along when a line is copied from a page in Arabic or Hebrew."""
_LIKE_EITHER = re.compile(r"\{\s*(?:FOR|END)\b", re.IGNORECASE)
ROLES_OF_PARTS = (ANNOTATOR, RATER, PLAYER)
"""Who agrees to a consent text, in the order of pages."""


class PartsError(ValueError):
    """A part of a text begins or ends wrongly. The message says in which line, and what would be right."""


@dataclass(frozen=True)
class TextPart:
    """Lines of a text that people with one of `roles` read; everybody if there are none."""

    roles: tuple[str, ...]
    lines: tuple[str, ...]


def is_marker(line: str) -> bool:
    """Return whether a line begins or ends a part, so that it is neither shown nor translated."""
    seen = line.translate(_DIRECTIONS)
    return bool(_BEGINNING.fullmatch(seen) or _END.fullmatch(seen))


def checked_parts(body: str) -> list[TextPart]:
    """Return the parts of a text for some roles, and between them what is for everybody.

    Raises PartsError.
    """
    parts: list[TextPart] = []
    roles: tuple[str, ...] = ()
    lines: list[str] = []
    begun = 0
    for number, line in enumerate(body.split("\n"), start=1):
        seen = line.translate(_DIRECTIONS)
        if not _LIKE_EITHER.search(seen):
            lines.append(line)
            continue
        beginning = _BEGINNING.fullmatch(seen)
        if beginning and begun:
            raise _no_end(begun)
        if not beginning and not _END.fullmatch(seen):
            text = _(
                "Line %(line)d: put {FOR annotator}, or for two roles {FOR annotator, rater}, and {END} on lines "
                "of their own."
            )
            raise PartsError(text % {"line": number})
        if not beginning and not begun:
            raise PartsError(_("Line %(line)d: {END} ends nothing. No {FOR …} comes before it.") % {"line": number})
        parts.append(TextPart(roles, tuple(lines)))
        roles, lines, begun = (_roles(beginning[1], number), [], number) if beginning else ((), [], 0)
    if begun:
        raise _no_end(begun)
    return [*parts, TextPart((), tuple(lines))]


def _no_end(begun: int) -> PartsError:
    return PartsError(
        _("Line %(line)d: this part has no end. Put {END} on a line of its own after it.") % {"line": begun}
    )


def _roles(said: str, number: int) -> tuple[str, ...]:
    roles = tuple(re.split(r"\s*,\s*", said))
    for role in roles:
        if role not in ROLES_OF_PARTS:
            text = _(
                "Line %(line)d: “%(role)s” is not a role that agrees to this text. Write annotator, rater or player."
            )
            raise PartsError(text % {"line": number, "role": role})
    return roles


def _parts(body: str) -> list[TextPart]:
    """Return the parts of a text that is stored; one that was written before there were any is for everybody."""
    try:
        return checked_parts(body)
    except PartsError:
        return [TextPart((), tuple(body.split("\n")))]


def has_parts(body: str) -> bool:
    return len(_parts(body)) > 1


def check_parts(original: str, body: str) -> None:
    """Raise PartsError unless a translation has the parts of its original, in the same order."""
    wanted, found = ([{*part.roles} for part in checked_parts(text) if part.roles] for text in (original, body))
    if wanted != found:
        raise PartsError(_("The lines {FOR …} and {END} must be those of the original, in the same order."))


def text_for(body: str, roles: Collection[str]) -> str:
    """Return what people with `roles` read of a text."""
    read = (part for part in _parts(body) if not part.roles or not {*roles}.isdisjoint(part.roles))
    return "\n".join(line for part in read for line in part.lines)


def without_markers(body: str) -> str:
    """Return all of a text, as it was before it had parts."""
    return "\n".join(line for line in body.split("\n") if not is_marker(line))


def with_markers(body: str) -> str:
    """Return all of a text, for those who publish or translate it, with the markers apart from what they are about."""
    return "\n".join(_marked(_parts(body)))


def _marked(parts: list[TextPart]) -> Iterator[str]:
    for part in parts:
        if part.roles:
            yield from ("", f"`{{FOR {', '.join(part.roles)}}}`", "", *part.lines, "", "`{END}`", "")
        else:
            yield from part.lines


def consent_roles(body: str, roles: Collection[str]) -> tuple[str, ...]:
    """Return as what people with `roles` agree to a text: as each of them, or once as "" where it is one for all."""
    return tuple(role for role in ROLES_OF_PARTS if role in roles) if has_parts(body) else ("",)


def covers(given: Collection[str], role: str) -> bool:
    """Return whether somebody agreed for `role` who agreed as `given`."""
    return "" in given or role in given
