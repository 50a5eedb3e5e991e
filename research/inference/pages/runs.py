"""Prepare the pages of a run: its decoding, what it would do, and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core.images.models import Collection, CollectionImage
from core.languages.models import Language
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel, Run, RunFailure
from research.inference.rules.runs import variant_name
from research.inference.selectors.models import ENGLISH, ascribed_to, counts_in
from research.inference.selectors.runs import reasons_of


def run_plan(
    *,
    model: CaptioningModel,
    collection: Collection,
    images: int,
    languages: Sequence[Language],
    decoding: Decoding,
    name: str,
) -> dict[str, Any]:
    """Say whose the captions will be (`name`), and count those to make, those that are there and, where English ones
    are translated, images that lack one.
    """
    if not model.is_pivot:
        decoding = replace(decoding, is_consistent=False)
    whose, base = ascribed_to(model, decoding), model.variant_of or model
    counts = counts_in(whose, collection) if whose is not None else {}
    stored = sum(counts.get(language.tag, 0) for language in languages)
    english = model.english_model
    lacking = images - counts_in(english, collection).get(ENGLISH, 0) if english is not None else 0
    return {
        "name": whose.name if whose else name or variant_name(base.name, decoding.stored(), base.decoding),
        "is_variant": whose is None or whose.variant_of_id is not None,
        "is_new_variant": whose is None,
        "to_make": images * len(languages) - stored,
        "there": stored,
        "lacking": lacking,
        "english": english.name if english is not None else "",
    }


def failures_page(run: Run, page: Iterable[RunFailure], shown: QuerySet[RunFailure]) -> dict[str, Any]:
    """Prepare failures with keys of their images, empty where one has left the collection, and the commonest reasons.

    `assigned` are of images that the viewer works on: they are not shown.
    """
    failures = list(page)
    entries = CollectionImage.objects.filter(
        collection=run.collection_id, image__in=[failure.image_id for failure in failures]
    )
    keys = dict(entries.values_list("image_id", "key"))
    return {
        "lines": [(failure, keys.get(failure.image_id, "")) for failure in failures],
        "reasons": reasons_of(shown),
        "assigned": max(0, run.failures.count() - shown.count()),
    }


def decoding_lines(stored: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List names and values of the settings, in the order of the form; none if nothing is decoded yet."""
    if not stored:
        return []
    decoding = Decoding.from_stored(stored)
    lines = [(_("Beams"), str(decoding.beams))]
    lines += [(_("Tokens"), _("%(low)s to %(high)s") % {"low": decoding.min_tokens, "high": decoding.max_tokens})]
    if decoding.beams > 1:
        lines.append((_("Length penalty"), f"{decoding.length_penalty:g}"))
    if decoding.temperature:
        lines.append((_("Temperature"), f"{decoding.temperature:g}"))
        lines.append((_("Top-p"), f"{decoding.top_p:g}"))
        lines.append((_("Seed"), str(decoding.seed)))
    lines.append((_("Precision"), decoding.precision))
    if decoding.is_consistent:
        lines.append((_("Stabiliser"), _("the same for all languages")))
    return lines
