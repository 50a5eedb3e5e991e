"""A few captions of a round, drawn at random by its seed, to read before deciding about it."""

from __future__ import annotations

from collections import defaultdict
from random import Random

from annotation.models import Caption, Round, Verdict
from core.allocation.models import AssignmentState
from core.images.models import CollectionImage

SAMPLES = 5


def samples_of(round: Round, *, draw: int = 0) -> list[tuple[Caption, str, list[str]]]:
    """Return some captions of a round, or of the round that it rates; another `draw` gives others.

    Each comes with the key of its image and the levels that others gave it.
    """
    captions = Caption.objects.counted().filter(round=round.verifies_id or round.pk)
    known = list(captions.order_by("pk").values_list("pk", flat=True))
    drawn = Random(f"{round.seed}:{draw}").sample(known, min(SAMPLES, len(known)))
    levels: dict[int, list[str]] = defaultdict(list)
    verdicts = Verdict.objects.filter(caption__in=drawn, assignment__state=AssignmentState.DONE)
    for verdict in verdicts.order_by("caption", "pk"):
        levels[verdict.caption_id].append(str(verdict.get_rating_display()))
    by_pk = Caption.objects.select_related("image").in_bulk(drawn)
    rows = [by_pk[pk] for pk in drawn]
    entries = CollectionImage.objects.filter(collection=round.collection_id, image__in=[row.image_id for row in rows])
    keys = dict(entries.values_list("image", "key"))
    return [(row, keys.get(row.image_id, row.image.sha256[:12]), levels[row.pk]) for row in rows]
