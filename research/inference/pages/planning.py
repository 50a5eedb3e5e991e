"""Say what a run would do, before it is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.images.models import Collection
from core.languages.models import Language
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel
from research.inference.rules.runs import variant_name
from research.inference.selectors.models import ENGLISH, ascribed_to, counts_in


@dataclass(frozen=True)
class RunPlan:
    name: str
    """Whose the captions will be."""
    is_variant: bool
    is_new_variant: bool
    to_make: int
    there: int
    lacking: int
    """Images that have no English caption, where those are translated."""
    english: str


def run_plan(
    *,
    model: CaptioningModel,
    collection: Collection,
    images: int,
    languages: Sequence[Language],
    decoding: Decoding,
    name: str,
) -> RunPlan:
    if not model.is_pivot:
        decoding = replace(decoding, is_consistent=False)
    whose, base = ascribed_to(model, decoding), model.variant_of or model
    counts = counts_in(whose, collection) if whose is not None else {}
    stored = sum(counts.get(language.tag, 0) for language in languages)
    english = model.english_model
    lacking = images - counts_in(english, collection).get(ENGLISH, 0) if english is not None else 0
    return RunPlan(
        name=whose.name if whose else name or variant_name(base.name, decoding.stored(), base.decoding),
        is_variant=whose is None or whose.variant_of_id is not None,
        is_new_variant=whose is None,
        to_make=images * len(languages) - stored,
        there=stored,
        lacking=lacking,
        english=english.name if english is not None else "",
    )
