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


@dataclass(frozen=True)
class StabilisersPage:
    """`distribution` is of the collection `chosen`: number of stabilisers, images, share of the images."""

    tallies: Sequence[Tally]
    chosen: Tally
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
        tallies=collection_tallies,
        chosen=chosen,
        distribution=[(number, count, texts.percent(100 * count / chosen.total)) for number, count in counts],
        plot=bar_plot(_("Images by their number of stabilisers"), [(_bar_name(n), c, "images") for n, c in counts]),
        is_consistent=Decoding.from_stored(model.decoding).is_consistent,
        is_kept=not any(tally.several for tally in collection_tallies),
    )


def _bar_name(number: int) -> str:
    return ngettext("%(number)d stabiliser", "%(number)d stabilisers", number) % {"number": number}
