"""Prepare models for lists and for their own pages: their kinds, what they are, and their stabilisers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from charts import texts
from charts.plots import bar_plot
from core.people.models import User
from research.inference.backends import registry
from research.inference.backends.captioners import BackendSettingsError, Decoding
from research.inference.models import IMPORTED, TRANSLATED, CaptioningModel
from research.inference.pages.runs import decoding_lines
from research.inference.permissions import models_for
from research.inference.selectors.models import ModelRow, StabiliserTally, caption_counts, languages_by_tag, tallies
from research.inference.selectors.runs import runs
from research.inference.services.model_cache import backend_of, languages_of
from tabular.tables import TEXT, PageTable, TableColumn, isolated, link

NEWEST_RUNS = 20


@dataclass(frozen=True)
class ModelAbility:
    """What a model can do on this installation."""

    codes: Mapping[str, str]
    """Our tags of the languages that it can write, with its own code for each."""
    queue: str
    missing: Sequence[str]
    """Packages that its backend needs and that this process lacks. Workers may have them."""
    trouble: str
    """Why it cannot be run as it is registered; empty where it can or is not meant to be."""


def model_lines(rows: Sequence[ModelRow]) -> list[tuple[ModelRow, str]]:
    """List models with the titles of their kinds."""
    titles = kind_titles()
    return [(row, titles.get(row.model.backend, row.model.backend)) for row in rows]


def model_page(model: CaptioningModel, viewer: User, *, now: datetime) -> dict[str, Any]:
    """Prepare a model with those of its runs, the newest first, and of its relatives that `viewer` may see.

    Languages have its own codes and their numbers of captions: `written` those with captions, `writable` the others.
    The platform does not know the tags in `unknown`.
    """
    counts = caption_counts([model.pk]).get(model.pk, {})
    ability = ability_of(model)
    codes = ability.codes
    known = languages_by_tag()
    tags = sorted({*codes, *counts} & {*known}, key=lambda tag: known[tag].name.casefold())
    lines = [(known[tag], codes.get(tag, ""), counts.get(tag, 0)) for tag in tags]
    newest = list(runs(viewer, model, now=now)[: NEWEST_RUNS + 1])
    relatives = models_for(viewer).order_by("name")
    return {
        "kind": kind_titles().get(model.backend, model.backend),
        "can_run": model.backend != IMPORTED and not ability.trouble and model.retired_at is None,
        "ability": ability,
        "options": _options(model.options),
        "decoding": decoding_lines(model.decoding),
        "written": [line for line in lines if line[2]],
        "writable": [line for line in lines if not line[2]],
        "unknown": sorted({*codes} - {*known}),
        "runs": newest[:NEWEST_RUNS],
        "has_more_runs": len(newest) > NEWEST_RUNS,
        "variants": relatives.filter(variant_of=model),
        "translated": relatives.filter(english_model=model),
    }


def kind_titles() -> dict[str, str]:
    """Map the names of backends to their titles."""
    own = {IMPORTED: _("imported"), TRANSLATED: _("translated by a machine")}
    return own | {name: str(backend.title) for name, backend in registry.backends().items()}


def ability_of(model: CaptioningModel) -> ModelAbility:
    if model.backend == IMPORTED:
        return ModelAbility({}, "", [], "")
    try:
        backend, codes = backend_of(model.runner), languages_of(model)
        backend.check(model.runner.spec)
    except BackendSettingsError as refused:
        return ModelAbility({}, "", [], str(refused))
    return ModelAbility(codes, backend.queue, registry.missing_modules(backend), "")


def _options(options: dict[str, Any]) -> list[tuple[str, str]]:
    """List the stored options, one per line; options by language get a line for each language."""
    lines = []
    for name, value in options.items():
        if isinstance(value, dict):
            lines += [(f"{name}, {key}" if key else name, str(inner)) for key, inner in value.items()]
        else:
            lines.append((name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)))
    return lines


def broken_packages() -> list[str]:
    """Say what is wrong with packages' backends that cannot be used."""
    return [
        _("%(entry)s of the package %(package)s: %(reason)s")
        % {"entry": one.entry, "package": one.package, "reason": one.reason}
        for one in registry.broken_backends()
    ]


def kind_cards(backends: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List cards of backends: our own first, then those of packages, which may have no sentence `about` them.

    This process lacks what is `missing` of what they need; workers may have it.
    """
    return [
        {
            "name": name,
            "title": str(backend.title),
            "about": str(getattr(backend, "about", "")),
            "package": registry.package_of(backend),
            "missing": registry.missing_modules(backend),
        }
        for name, backend in backends.items()
    ]


def stabilisers_page(model: CaptioningModel, viewer: User, *, collection: str) -> dict[str, Any] | None:
    """Prepare the report; None if there are no stabilisers. The default collection is the one with most images.

    `is_kept`: every image of every collection has exactly one.
    """
    collection_tallies = tallies(model, viewer)
    if not collection_tallies:
        return None
    largest = max(collection_tallies, key=lambda tally: tally.total)
    chosen = next((tally for tally in collection_tallies if tally.collection.slug == collection), largest)
    counts = [(number, chosen.images[number]) for number in range(1, max(chosen.images) + 1)]
    return {
        "tallies": PageTable(
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
        "chosen": chosen,
        "distribution": PageTable(
            "distribution",
            "",
            [
                TableColumn("stabilisers", _("Stabilisers"), lambda row: row[0]),
                TableColumn("images", _("Images"), lambda row: row[1]),
                TableColumn("share", _("Share"), lambda row: texts.percentage(100 * row[1] / chosen.total)),
            ],
            counts,
        ),
        "plot": bar_plot(_("Images by their number of stabilisers"), [(_bar_name(n), c, "images") for n, c in counts]),
        "is_consistent": Decoding.from_stored(model.decoding).is_consistent,
        "is_kept": not any(tally.several for tally in collection_tallies),
    }


def _collection(tally: StabiliserTally, chosen: StabiliserTally) -> str:
    name = isolated(tally.collection.name)
    if tally == chosen:
        return format_html("<strong>{}</strong>", name)
    return link(f"?collection={tally.collection.slug}", name)


def _bar_name(number: int) -> str:
    return ngettext("%(number)d stabiliser", "%(number)d stabilisers", number) % {"number": number}
