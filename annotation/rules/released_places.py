"""Names of the places of a release's images."""

from __future__ import annotations

from django.utils.translation import gettext as _

CONTINENT = "continent:"
"""Before the code of a continent, since AF is a country, too."""


def place_name(code: str) -> str:
    """Return the name of a continent, or the code of a country or region."""
    names = {
        "AF": _("Africa"),
        "AN": _("Antarctica"),
        "AS": _("Asia"),
        "EU": _("Europe"),
        "NA": _("North America"),
        "OC": _("Oceania"),
        "SA": _("South America"),
    }
    kind, _separator, rest = code.rpartition(":")
    return names.get(rest, rest) if kind else code
