"""A few captions of a round, drawn at random by its seed, to read before deciding about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from allocation.models import AssignmentState
from annotation.models import Caption, Round, Verdict
from images.models import CollectionImage
from images.selectors import ServedImage, served_image
from people.models import User

SAMPLES = 5


@dataclass(frozen=True)
class Sample:
    """A caption with its image and the levels that others gave it."""

    key: str
    image: ServedImage
    text: str
    levels: Sequence[str]


def samples_of(round: Round, viewer: User, *, draw: int = 0) -> list[Sample]:
    """Return some captions of a round, or of the round that it rates; another `draw` gives others."""
    captions = Caption.objects.counted().filter(round=round.verifies_id or round.pk)
    known = list(captions.order_by("pk").values_list("pk", flat=True))
    drawn = Random(f"{round.seed}:{draw}").sample(known, min(SAMPLES, len(known)))
    levels: dict[int, list[str]] = defaultdict(list)
    verdicts = Verdict.objects.filter(caption__in=drawn, assignment__state=AssignmentState.DONE)
    for verdict in verdicts.order_by("caption", "pk"):
        levels[verdict.caption_id].append(str(verdict.get_rating_display()))
    rows = Caption.objects.select_related("image").in_bulk(drawn)
    entries = CollectionImage.objects.filter(
        collection=round.collection_id, image__in=[row.image_id for row in rows.values()]
    )
    keys = dict(entries.values_list("image", "key"))
    return [
        Sample(
            key=keys.get(rows[pk].image_id, rows[pk].image.sha256[:12]),
            image=served_image(rows[pk].image, viewer),
            text=rows[pk].text,
            levels=levels[pk],
        )
        for pk in drawn
    ]
