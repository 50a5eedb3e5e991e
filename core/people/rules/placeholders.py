"""What stands in braces in a project's text: names that buttons have, and what differs by project."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _

_BRACES = re.compile(r"\{[^{}\n]*\}")
_ADDRESS = re.compile(r"://|www\.|[\w}-]\.[^\W\d_]{2,}|\d+(?:\.\d+){3}", re.IGNORECASE)
_AROUND = "()[]<>.,:;!?*\"'\u00ab\u00bb\u201c\u201d\u201e"
_PLACEHOLDER = re.compile(r"\{([A-Z_]+)\}")


class PlaceholdersError(ValueError):
    """A text lacks a placeholder of its original, has another, or an address of its own. The message says which."""


def check_placeholders(original: str, body: str) -> None:
    """Raise PlaceholdersError unless `body` has every placeholder of its original, and nothing else in braces."""
    wanted, found = (set(_BRACES.findall(text)) for text in (original, body))
    said = []
    if missing := wanted - found:
        said.append(_("The text lacks %(missing)s.") % {"missing": _listed(missing)})
    if unknown := found - wanted:
        about = {"unknown": _listed(unknown), "known": _listed(wanted)}
        said.append(_("Nothing is filled in for %(unknown)s. You can write %(known)s.") % about)
    if said:
        raise PlaceholdersError(" ".join(said))


def check_addresses(original: str, body: str) -> None:
    """Raise PlaceholdersError if `body` has an address that its original lacks, or what programs make a link of."""
    if new := _addresses(body) - _addresses(original):
        text = _("By this link you cannot put other addresses into e-mails. Remove %(addresses)s, or ask a manager.")
        raise PlaceholdersError(text % {"addresses": _listed(new)})


def _addresses(text: str) -> set[str]:
    words = unicodedata.normalize("NFKC", text).split()
    return {word.strip(_AROUND) for word in words if _ADDRESS.search(word)}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def filled(body: str, names: Mapping[str, str]) -> str:
    """Fill in the placeholders that have a name; others stay as they are written."""
    return _PLACEHOLDER.sub(lambda found: names.get(found[1]) or found[0], body)
