"""What stands beside a caption that a manager checks: captions like it, and the levels that its author gave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from annotation.models import Caption, Round, Tally, Verdict
from annotation.rules.text_checks import trigram_similarity
from annotation.selectors.marks import SHOWN_STATES
from core.allocation.models import AssignmentState

MIN_LIKENESS = 0.6
"""(ours) Shared sequences of three characters. Different sentences of one language share up to half of them."""
MAX_ALIKE = 3


@dataclass(frozen=True)
class AlikeCaption:
    """Another caption of the same image, or of the same person and batch, that is much like it."""

    caption: Caption
    percent: int
    is_same_image: bool


@dataclass(frozen=True)
class CaptionBeside:
    """A caption with those like it. `levels` counts those that its author gave to English captions in its round."""

    caption: Caption
    alike: Sequence[AlikeCaption]
    levels: Mapping[str, int]


def counted_verdicts() -> QuerySet[Verdict]:
    return Verdict.objects.filter(assignment__state=AssignmentState.DONE)


def with_what_is_beside(captions: Sequence[Caption]) -> list[CaptionBeside]:
    alike = alike_captions(captions)
    levels = {of: levels_by_author(of) for of in {caption.round for caption in captions}}
    return [CaptionBeside(one, alike[one.pk], levels[one.round].get(one.author_id or 0, {})) for one in captions]


def alike_captions(captions: Iterable[Caption]) -> Mapping[int, Sequence[AlikeCaption]]:
    """Find, for each of some captions, those most like it: of its image, and of its author's batch."""
    shown = list(captions)
    batches = {caption.item.batch_id for caption in shown if caption.item}
    images = {caption.image_id for caption in shown}
    near = Q(item__batch__in=batches) | Q(image__in=images)
    rounds = {caption.round_id for caption in shown}
    rows = Caption.objects.filter(near, round__in=rounds, state__in=SHOWN_STATES, item__isnull=False)
    by_image: dict[int, list[Caption]] = defaultdict(list)
    by_batch: dict[object, list[Caption]] = defaultdict(list)
    for other in rows.select_related("item", "author").order_by("pk"):
        by_image[other.image_id].append(other)
        by_batch[other.item.batch_id if other.item else None].append(other)
    found = {}
    for caption in shown:
        others = [*by_image[caption.image_id], *by_batch[caption.item.batch_id if caption.item else None]]
        alike = (
            AlikeCaption(one, round(100 * trigram_similarity(caption.text, one.text)), one.image_id == caption.image_id)
            for one in others
            if one.pk != caption.pk
        )
        likely = sorted((one for one in alike if one.percent >= 100 * MIN_LIKENESS), key=lambda one: -one.percent)
        found[caption.pk] = likely[:MAX_ALIKE]
    return found


def levels_by_author(of: Round) -> Mapping[int, Mapping[str, int]]:
    """Count the levels that each person of a round gave to English captions on screen 1."""
    return dict(Tally.objects.filter(round=of).values_list("person", "ratings"))
