"""What to tell people of coordinates that cannot be right."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from geography.places import CoordinateFault

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
