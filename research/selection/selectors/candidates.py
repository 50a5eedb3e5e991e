"""Read lists of candidates, and how many lines of their files were kept or left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, QuerySet
from django.utils.translation import gettext_lazy as _

from core.people.models import Project
from geography.codes import country_name
from research.selection.models import CandidateList
from research.selection.rules.candidates import CandidateFault

COUNTRIES_SHOWN = 12

FAULT_TEXTS: Mapping[CandidateFault, object] = {
    CandidateFault.COORDINATES_MISSING: _("Coordinates are missing."),
    CandidateFault.COORDINATES_NOT_NUMBERS: _("Coordinates are not numbers."),
    CandidateFault.COORDINATES_OUT_OF_RANGE: _("Coordinates are not on Earth."),
    CandidateFault.COORDINATES_SWAPPED: _("Latitude and longitude are swapped."),
    CandidateFault.COORDINATES_ZERO: _("Coordinates are 0, 0, which usually means unknown."),
    CandidateFault.NO_KEY: _("There is no key."),
    CandidateFault.NO_ADDRESS: _("There is no address."),
    CandidateFault.BAD_ADDRESS: _("The address is neither http:// or https://, nor a path within a folder."),
    CandidateFault.PRIVATE_ADDRESS: _("The address is in a private network, from which nothing is fetched."),
    CandidateFault.NO_LICENCE: _("There is no licence."),
    CandidateFault.BAD_CHECKSUM: _("The checksum is not MD5, SHA-1 or SHA-256."),
    CandidateFault.TOO_LONG: _("The key, address or licence is too long."),
    CandidateFault.UNREADABLE: _("The line holds control characters, or quotation marks that are not doubled."),
    CandidateFault.KEY_TWICE: _("An earlier line has the same key."),
    CandidateFault.IMAGE_TWICE: _("An earlier line is the same image: it has the same address or checksum."),
}


@dataclass(frozen=True)
class ListSummary:
    """A list of candidates: `left_out` by reason and `countries` by name, the most first.

    `more_countries` is how many candidates are in other countries than those named.
    """

    candidates: CandidateList
    kept: int
    left_out: list[tuple[str, int]]
    countries: list[tuple[str, int]]
    more_countries: int
    at_sea: int
    is_complete: bool
    is_used: bool


def fault_text(fault: CandidateFault) -> str:
    return str(FAULT_TEXTS[fault])


def lists_of(project: Project) -> QuerySet[CandidateList]:
    return CandidateList.objects.filter(project=project).annotate(uses=Count("selections")).order_by("name", "pk")


def is_complete(candidates: CandidateList) -> bool:
    """Return whether the file was read to its end, so that images can be chosen from the list."""
    return bool(candidates.counts.get("complete", True))


def summary_of(candidates: CandidateList) -> ListSummary:
    """Summarise a list; its row is of `lists_of`."""
    counts = candidates.counts
    countries = sorted(counts.get("countries", {}).items(), key=lambda one: (-one[1], one[0]))
    left_out = sorted(counts.get("left_out", {}).items(), key=lambda one: (-one[1], one[0]))
    return ListSummary(
        candidates=candidates,
        kept=counts.get("kept", 0),
        left_out=[(fault_text(CandidateFault(name)), count) for name, count in left_out],
        countries=[(country_name(code), count) for code, count in countries[:COUNTRIES_SHOWN]],
        more_countries=sum(count for _code, count in countries[COUNTRIES_SHOWN:]),
        at_sea=counts.get("at_sea", 0),
        is_complete=is_complete(candidates),
        is_used=getattr(candidates, "uses", 0) > 0,
    )
