"""Prepare the report on a pivot-stabilised model's stabilisers."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts import texts
from charts.plots import BarPlot, bar_plot
from core.people.models import User
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel
from research.inference.selectors.stabilisers import StabiliserTally, tallies
from tabular.tables import TEXT, PageTable, TableColumn, isolated, link


@dataclass(frozen=True)
class StabilisersPage:
    """`distribution` is of the collection `chosen`."""

    tallies: PageTable[StabiliserTally]
    chosen: StabiliserTally
    distribution: PageTable[tuple[int, int]]
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
        tallies=PageTable(
            "collections",
            _("By collection, over images with a stabiliser"),
            [
                TableColumn("collection", _("Collection"), lambda tally: _collection(tally, chosen), kind=TEXT),
                TableColumn("images", _("Images"), lambda tally: tally.total),
                TableColumn(
                    "languages", _("Languages per image"), lambda tally: texts.plain_number(tally.languages, 2)
                ),
                TableColumn("stabilisers", _("Stabilisers per image"), lambda tally: texts.plain_number(tally.mean, 2)),
                TableColumn("several", _("Images with several"), lambda tally: tally.several),
            ],
            collection_tallies,
        ),
        chosen=chosen,
        distribution=PageTable(
            "distribution",
            "",
            [
                TableColumn("stabilisers", _("Stabilisers"), lambda row: row[0]),
                TableColumn("images", _("Images"), lambda row: row[1]),
                TableColumn("share", _("Share"), lambda row: texts.percentage(100 * row[1] / chosen.total)),
            ],
            counts,
        ),
        plot=bar_plot(_("Images by their number of stabilisers"), [(_bar_name(n), c, "images") for n, c in counts]),
        is_consistent=Decoding.from_stored(model.decoding).is_consistent,
        is_kept=not any(tally.several for tally in collection_tallies),
    )


def _collection(tally: StabiliserTally, chosen: StabiliserTally) -> str:
    name = isolated(tally.collection.name)
    if tally == chosen:
        return format_html("<strong>{}</strong>", name)
    return link(f"?collection={tally.collection.slug}", name)


def _bar_name(number: int) -> str:
    return ngettext("%(number)d stabiliser", "%(number)d stabilisers", number) % {"number": number}
