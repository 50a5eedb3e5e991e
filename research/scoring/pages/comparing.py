"""Compare two models: their difference in each metric, its significance, and the images that differ most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.cache import cache
from django.utils.translation import gettext as _

from charts import texts
from core.people.models import User
from crosslens_metrics.paired import PairedDifference
from crosslens_metrics.reports.figures import UndefinedScore
from crosslens_metrics.sampling.intervals import FEW_IMAGES, LEVEL
from crosslens_metrics.sampling.significance import holm
from crosslens_metrics.undefined import UndefinedReason
from research.scoring.models import Scoring
from research.scoring.pages.images import image_with_texts
from research.scoring.pages.scores import value_text
from research.scoring.selectors.images import PerImage, gains_by_image, per_image
from research.scoring.selectors.restricting import ImageRestriction, restriction
from research.scoring.selectors.scores import ScoringRow, current_pass, shown_times, title_of
from research.scoring.selectors.significance import SEED, PairedResult, common_metrics, paired_result
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter

RESAMPLES = 2_000
"""Fewer than in a paper, so that a page of eight metrics comes within a moment; the page says how many."""
KEPT_S = 24 * 3600
MAX_APART = 5


def labels_of(rows: Sequence[ScoringRow]) -> Mapping[int, str]:
    """Label the scorings that have figures, for lists of choices."""
    text = _("%(language)s, %(references)s: %(model)s (%(text)s)")
    return {
        row.scoring.pk: text
        % {
            "language": row.scoring.references.language.name,
            "references": row.scoring.references.name,
            "model": row.scoring.model.name,
            "text": row.scoring.text_version,
        }
        for row in rows
        if row.done is not None
    }


def compare_page(
    test: Scoring,
    base: Scoring,
    viewer: User | None,
    *,
    method: str,
    metric: str,
    filter: ImageFilter = ALL_IMAGES,
) -> dict[str, Any]:
    """Prepare the comparison; `viewer` is None if no images may be shown.

    Raises ImageFilterError if the filter cannot be applied to the language.
    """
    names = common_metrics(test, base)
    only = None if filter.is_all else restriction(filter, project=test.project)
    compared = compared_figures(test, base, method=method, only=only)
    results = [result for result, _p in compared]
    images = max((result.images for result in results), default=0)
    chosen = metric if metric in names else next(iter(names), "")
    ahead, behind = _apart(test, base, chosen, viewer, only) if viewer and chosen else ([], [])
    return {
        "lines": [_line(result, p) for result, p in compared],
        "images": images,
        "are_few": images < FEW_IMAGES,
        "left_out": max((result.left_out for result in results), default=0),
        "resamples": RESAMPLES,
        "seed": SEED,
        "metric": chosen,
        "title": title_of(chosen) if chosen else "",
        "metrics": [(name, title_of(name)) for name in names],
        "test_ahead": ahead,
        "base_ahead": behind,
    }


def compared_figures(
    test: Scoring, base: Scoring, *, method: str, only: ImageRestriction | None
) -> list[tuple[PairedResult, float]]:
    """Return the difference in each common metric, with its p-value by Holm's method for all of them."""
    names = common_metrics(test, base)
    results = [result for name in names if (result := _result(test, base, name, method, only)) is not None]
    return list(zip(results, _corrected(results), strict=True))


def _result(
    test: Scoring, base: Scoring, metric: str, method: str, only: ImageRestriction | None
) -> PairedResult | None:
    """Compute the result once for two passes, which no longer change; the images of a filter may."""
    if only is not None:
        return paired_result(test=test, base=base, metric=metric, method=method, resamples=RESAMPLES, only=only)
    passes = "-".join(str(done.pk) for one in (test, base) if (done := current_pass(one)) is not None)
    key = f"scoring-paired-differences-{passes}-{metric}-{method}-{RESAMPLES}-{SEED}"
    result: PairedResult | None = cache.get(key)
    if result is None:
        result = paired_result(test=test, base=base, metric=metric, method=method, resamples=RESAMPLES)
        cache.set(key, result, KEPT_S)
    return result


def _corrected(results: Sequence[PairedResult]) -> Iterator[float]:
    """Yield the p-values by Holm's method for all metrics, 1 where there is none."""
    plain = [one.difference.p for one in results if isinstance(one.difference, PairedDifference)]
    corrected = iter(holm(plain).tolist())
    for one in results:
        yield next(corrected) if isinstance(one.difference, PairedDifference) else 1.0


def _line(result: PairedResult, corrected: float) -> dict[str, Any]:
    """Write the difference in one metric, bold by its `corrected` p. If it is undefined, `why` says why."""
    times, difference = shown_times(result.metric), result.difference
    line = {
        "title": title_of(result.metric),
        "test": value_text(None if result.test.value is None else result.test.value * times),
        "base": value_text(None if result.base.value is None else result.base.value * times),
        "warnings": result.warnings,
        **dict.fromkeys(("difference", "interval", "p", "holm", "smallest", "why"), ""),
    }
    if not isinstance(difference, PairedDifference):
        return line | {"why": texts.reason_undefined(difference)}
    interval = difference.interval.times(times) if difference.interval else None
    return line | {
        "difference": texts.signed_number(difference.difference * times, 2),
        "interval": texts.interval_text(interval, 2, with_sign=True) if interval else "",
        "p": _p_text(difference.p),
        "smallest": "" if difference.can_be_significant else _p_text(difference.smallest_p),
        "holm": _p_text(corrected),
        "is_clear": corrected < 1 - LEVEL,
        "why": _why_no_interval(difference.why_no_interval),
    }


def _p_text(p: float) -> str:
    return texts.p_value(p).removeprefix("p = ").removeprefix("p ")


def _why_no_interval(reason: UndefinedReason | None) -> str:
    if reason == UndefinedReason.NO_VARIATION:
        return _("No interval: all images differ by the same.")
    return UndefinedScore(reason).message if reason else ""


def _apart(
    test: Scoring, base: Scoring, metric: str, viewer: User, only: ImageRestriction | None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    figures = [per_image(done, metric) for one in (test, base) if (done := current_pass(one)) is not None]
    if len(figures) < 2 or figures[0] is None or figures[1] is None:
        return [], []
    image_gains = gains_by_image(figures[0], figures[1])
    if only is not None:
        mask = only.mask(image_gains.images, test.references.language_id)
        image_gains = PerImage(image_gains.images[mask], image_gains.values[mask])
    ahead = [row for row in image_gains.best(MAX_APART) if row[1] > 0]
    behind = [row for row in image_gains.worst(MAX_APART) if row[1] < 0]
    ids = [image for image, _gain in (*ahead, *behind)]
    ours, theirs = image_with_texts(test, ids, viewer), image_with_texts(base, ids, viewer)
    times = shown_times(metric)

    def lines(rows: Sequence[tuple[int, float]]) -> list[dict[str, Any]]:
        return [
            {"gain": texts.signed_number(gain * times), "test": ours[image], "base_caption": theirs[image]["caption"]}
            for image, gain in rows
            if image in ours
        ]

    return lines(ahead), lines(behind)
