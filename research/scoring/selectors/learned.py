"""Find scores over images that the model has learned from: they say little of images that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from research.inference.models import Training
from research.inference.selectors.trainings import images_learned
from research.scoring.models import Pass
from research.scoring.rules.packing import unpack_integers
from research.scoring.selectors.scores import ScoringRow


def learned_counts(rows: Sequence[ScoringRow]) -> dict[int, int]:
    """Count, by scoring, the images of its current pass that its model was trained on; only where there are any."""
    if not Training.objects.exclude(model=None).exists():
        return {}
    done = {row.done.pk: row.scoring for row in rows if row.done is not None}
    by_model = {scoring.model_id: images_learned(scoring.model) for scoring in done.values()}
    counts = {}
    for pk, packed in Pass.objects.filter(pk__in=done).values_list("pk", "image_ids"):
        scoring = done[pk]
        learned = by_model[scoring.model_id]
        count = int(np.isin(unpack_integers(packed), list(learned)).sum()) if learned else 0
        if count:
            counts[scoring.pk] = count
    return counts
