"""Fields of an image's attribution, addresses of licences that many images have, and what is wrong with coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from geography.places import CoordinateFault

FIELDS = ("title", "author", "licence", "licence_url", "source")
"""What a manifest can fill in and managers can change."""

PLACE, EXTRA = "place", "extra"
"""What an import can fill in besides `FIELDS`: coordinates, and columns of a manifest that have no field here."""

LABELS = {
    "title": _("Title"),
    "author": _("Author"),
    "licence": _("Licence"),
    "licence_url": _("Address of the licence"),
    "source": _("Source"),
    PLACE: _("Place"),
    EXTRA: _("Other columns"),
}

_CREATIVE_COMMONS = ("BY", "BY-SA", "BY-ND", "BY-NC", "BY-NC-SA", "BY-NC-ND")
LICENCE_URLS: Mapping[str, str] = {
    "CC0 1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "Public Domain Mark 1.0": "https://creativecommons.org/publicdomain/mark/1.0/",
    **{
        f"CC {kind} {version}": f"https://creativecommons.org/licenses/{kind.lower()}/{version}/"
        for version in ("4.0", "3.0", "2.0")
        for kind in _CREATIVE_COMMONS
    },
}
"""Addresses of licences by their usual names."""


_COPIABLE = ("cc by", "cc0", "creative commons")


def may_be_copied(licence: str) -> bool:
    """Whether a licence is known to let everybody pass the image on: Creative Commons, or the public domain."""
    words = " ".join(licence.casefold().replace("-", " ").split())
    return words.startswith(_COPIABLE) or "public domain" in words


def counted_values(name: str, number: int) -> str:
    """Say how many values of a field there are, such as “12 licences”."""
    texts = {
        "title": ngettext("%(number)d title", "%(number)d titles", number),
        "author": ngettext("%(number)d author", "%(number)d authors", number),
        "licence": ngettext("%(number)d licence", "%(number)d licences", number),
        "licence_url": ngettext("%(number)d address of a licence", "%(number)d addresses of licences", number),
        "source": ngettext("%(number)d source", "%(number)d sources", number),
        PLACE: ngettext("%(number)d place", "%(number)d places", number),
        EXTRA: ngettext("other columns of %(number)d image", "other columns of %(number)d images", number),
    }
    return texts[name] % {"number": number}


def with_address(values: Mapping[str, str]) -> dict[str, str]:
    """Add the address of a well-known licence where none is given, or that of another one."""
    known = LICENCE_URLS.get(values.get("licence", ""), "")
    given = values.get("licence_url", "")
    is_of_another = given in LICENCE_URLS.values() and given != known
    return {**values, "licence_url": known} if known and (not given or is_of_another) else dict(values)


REASONS: Mapping[CoordinateFault, str | Promise] = MappingProxyType(
    {
        CoordinateFault.MISSING: _("No latitude or no longitude. Give both, in degrees."),
        CoordinateFault.NOT_A_NUMBER: _("A coordinate is not a number. Give degrees, such as 48.2082."),
        CoordinateFault.OUT_OF_RANGE: _(
            "A coordinate is out of range. Latitudes are −90 to 90 degrees, longitudes −180 to 180."
        ),
        CoordinateFault.SWAPPED: _("Latitude and longitude seem to be swapped. Put the latitude first."),
        CoordinateFault.NULL_ISLAND: _(
            "The coordinates are 0, 0, which cameras write when they do not know the place. Correct or remove them."
        ),
    }
)


def reason_of(fault: CoordinateFault | str) -> str:
    """What is wrong, and what to do about it."""
    return str(REASONS[CoordinateFault(fault)])
