"""The results of a verification round about the captions that it verifies.

Computed in the background with the other figures of a round, as pages of many languages would wait for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet
from numpy.typing import NDArray

from annotation.models import CaptionState, Round, Verdict, VerificationTask
from annotation.selectors.quality import AGAINST_OTHERS, ALPHA_INTERVAL, OVER_AUTHORS
from core.allocation.models import AssignmentState
from core.images.models import Image, is_left_out
from crosslens_metrics.agreement import alpha_with_other_raters
from crosslens_metrics.quality import (
    CODES,
    GOOD,
    LEVELS,
    NOT_ENOUGH_INFO,
    CaptionShare,
    confusions,
    medians,
    quality_of,
)
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.shared_ratings import agreement
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason


def figures_of(round: Round, images: QuerySet[Image] | None = None) -> dict[str, Any]:
    """Return the quality table's row of `round` as JSON values; docs/managers.md explains the figures.

    A caption is verified once all its places have an answer that counts. Captions that no longer count, and those of
    images left out of results, are in none of the figures; of `images`, if given, only captions of these are.
    """
    is_chosen = Q() if images is None else Q(caption__image__in=images)
    counts = Q(
        ~is_left_out(collection="caption__round__collection", image="caption__image"),
        caption__state=CaptionState.COUNTED,
    )
    given = Verdict.objects.filter(is_chosen, counts, batch__round=round)
    counting = given.filter(assignment__state=AssignmentState.DONE)
    left_out = given.filter(assignment__state__in=[AssignmentState.LATE, AssignmentState.REJECTED]).exclude(rating="")
    # In a fixed order: sums of floating-point numbers depend on it.
    columns = ("caption", "person", "rating", "assignment__task__places", "caption__author")
    rows = sorted(counting.order_by().values_list(*columns), key=lambda row: row[:2])
    captions, reviewers, places = (np.array([row[column] for row in rows], dtype=int) for column in (0, 1, 3))
    ratings = np.array([CODES[row[2]] for row in rows], dtype=int)
    _, caption_of, answers = np.unique(captions, return_inverse=True, return_counts=True)
    verified = answers[caption_of] >= places if len(rows) else np.zeros(0, dtype=bool)
    captions, reviewers, ratings = captions[verified], reviewers[verified], ratings[verified]
    authors = {row[0]: row[4] for row in rows}
    author_of = [authors[caption] for caption in captions.tolist()]
    quality = quality_of(captions, ratings, None if None in author_of else author_of)
    is_judged = ratings != NOT_ENOUGH_INFO
    agreed, agreed_judged = agreement(captions, ratings), agreement(captions[is_judged], ratings[is_judged])
    alpha = agreed.alpha
    people, numbers = np.unique(reviewers, return_counts=True)
    number_of = dict(zip(people.tolist(), numbers.tolist(), strict=True))
    drawn = VerificationTask.objects.filter(is_chosen, round=round)
    sample = drawn.filter(counts)
    return {
        "images": sample.values("caption__image").order_by().distinct().count(),
        "sampled": sample.count(),
        "verified": quality.captions,
        "verdicts": len(rows),
        "levels": dict(zip(LEVELS, quality.levels, strict=True)),
        "good": _share(quality.good_or_better),
        "medium": _share(quality.medium_or_better),
        "bad": _share(quality.bad),
        "not_enough_info": _share(quality.not_enough_info),
        "good_judged": _share(quality.judged.good_or_better),
        "medium_judged": _share(quality.judged.medium_or_better),
        "bad_judged": _share(quality.judged.bad),
        "drawn": drawn.count(),
        "ratings_left_out": left_out.count(),
        "verified_ratings": len(ratings),
        "not_enough_info_ratings": int((~is_judged).sum()),
        "pairs": agreed.pairs,
        "same_level": agreed.same,
        "pairs_judged": agreed_judged.pairs,
        "same_level_judged": agreed_judged.same,
        "alpha": None if isinstance(alpha, UndefinedReason) else alpha,
        "alpha_undefined": str(alpha) if isinstance(alpha, UndefinedReason) else "",
        ALPHA_INTERVAL: _alpha_interval(captions[is_judged], reviewers[is_judged], ratings[is_judged]),
        "authors": _by_author(authors, captions, ratings),
        AGAINST_OTHERS: [
            {
                "person": person,
                "verdicts": number_of[person],
                "compared": int(table.sum()),
                "agreed": int(np.trace(table)),
                "confusion": table.tolist(),
            }
            for person, table in confusions(captions, reviewers, ratings).items()
        ],
    }


def _by_author(
    authors: Mapping[int, int | None], captions: NDArray[np.int_], ratings: NDArray[np.int_]
) -> list[dict[str, int]]:
    """Count the verified captions of each person, and those that are good or better."""
    verified: Counter[int] = Counter()
    good: Counter[int] = Counter()
    for caption, level in zip(*medians(captions, ratings), strict=True):
        author = authors[int(caption)]
        if author is not None:
            verified[author] += 1
            good[author] += bool(level >= GOOD)
    return [{"person": author, "verified": count, "good": good[author]} for author, count in sorted(verified.items())]


def _alpha_interval(
    captions: NDArray[np.int_], reviewers: NDArray[np.int_], ratings: NDArray[np.int_]
) -> dict[str, Any] | None:
    try:
        return _ends(alpha_with_other_raters(captions, reviewers, ratings, level="ordinal"))
    except UndefinedFigureError as undefined:
        return {"undefined": str(undefined.reason)}


def _share(share: CaptionShare) -> dict[str, Any]:
    found = share.over_authors
    over_authors = {"undefined": str(found)} if isinstance(found, UndefinedReason) else _ends(found)
    return {
        "count": share.count,
        "share": share.value,
        **(_ends(share.interval) or {"low": None, "high": None}),
        OVER_AUTHORS: over_authors,
    }


def _ends(interval: Interval | None) -> dict[str, float] | None:
    return {"low": interval.low, "high": interval.high} if interval else None
