"""Prepare the report on a pivot-stabilised model's stabilisers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts import texts
from charts.plots import BarPlot, bar_plot
from inference.backends.captioners import Decoding
from inference.models import CaptioningModel
from inference.selectors.stabilisers import Tally, tallies
from people.models import User

MEAN_DIGITS = 2


@dataclass(frozen=True)
class Line:
    """A collection, with means as text. `several` is how many of its images have more than one stabiliser."""

    slug: str
    name: str
    images: int
    languages: str
    mean: str
    several: int


@dataclass(frozen=True)
class StabilisersPage:
    """`distribution` is of the collection `chosen`: number of stabilisers, images, share of the images."""

    lines: Sequence[Line]
    chosen: Line
    distribution: Sequence[tuple[int, int, str]]
    plot: BarPlot
    is_consistent: bool
    is_kept: bool
    """Whether every image of every collection has exactly one."""


def stabilisers_page(model: CaptioningModel, viewer: User, *, collection: str) -> StabilisersPage | None:
    """Prepare the report; None if there are no stabilisers. The default collection is the one with most images."""
    collection_tallies = tallies(model, viewer)
    if not collection_tallies:
        return None
    largest = max(collection_tallies, key=lambda tally: tally.total)
    chosen = next((tally for tally in collection_tallies if tally.collection.slug == collection), largest)
    counts = [(number, chosen.images[number]) for number in range(1, max(chosen.images) + 1)]
    return StabilisersPage(
        lines=[_line(tally) for tally in collection_tallies],
        chosen=_line(chosen),
        distribution=[(number, count, texts.percent(100 * count / chosen.total)) for number, count in counts],
        plot=bar_plot(_("Images by their number of stabilisers"), [(_bar_name(n), c, "images") for n, c in counts]),
        is_consistent=Decoding.from_stored(model.decoding).is_consistent,
        is_kept=not any(tally.several for tally in collection_tallies),
    )


def _bar_name(number: int) -> str:
    return ngettext("%(number)d stabiliser", "%(number)d stabilisers", number) % {"number": number}


def _line(tally: Tally) -> Line:
    return Line(
        slug=tally.collection.slug,
        name=tally.collection.name,
        images=tally.total,
        languages=texts.plain(tally.languages, MEAN_DIGITS),
        mean=texts.plain(tally.mean, MEAN_DIGITS),
        several=tally.several,
    )
