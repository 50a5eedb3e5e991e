"""Raters' judgements of a model's captions against another's, image by image."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from django.db.models import Q

from core.people.models import Project
from research.scoring.selectors.human_judgements import HumanJudgements
from sxs_eval.models import Comparison


def human_judgements_of(project: Project, model_id: int, language: str) -> Sequence[HumanJudgements]:
    """Return the mean of the judgements that count, over all comparisons of the two models, as seen from `model_id`."""
    # They need NumPy and SciPy, 35 MB that every command would load at its start.
    import numpy as np

    from sxs_eval.selectors.results import evidence_of

    comparisons = Comparison.objects.in_results().filter(
        Q(base=model_id) | Q(test=model_id), project=project, language=language
    )
    comparisons = comparisons.select_related("project", "pool", "base", "test").order_by("pk")
    evidence = evidence_of(comparisons)
    scores_of: dict[tuple[int, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for comparison in comparisons:
        is_test = comparison.test_id == model_id
        other = comparison.base if is_test else comparison.test
        judged = evidence[comparison.pk].judged
        scores = np.asarray(judged.score) * (1 if is_test else -1)
        for image, score in zip(np.asarray(judged.image).tolist(), scores.tolist(), strict=True):
            scores_of[other.pk, other.name][image].append(score)
    return [
        HumanJudgements(other_id, name, {image: sum(scores) / len(scores) for image, scores in by_image.items()})
        for (other_id, name), by_image in scores_of.items()
        if by_image
    ]
