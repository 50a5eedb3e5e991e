"""The figures of some images of a pass by one metric, and what follows from them for these images together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from django.core.cache import cache
from numpy.typing import NDArray

from crosslens_metrics.java import ToolFailedError, ToolMissingError
from crosslens_metrics.paired import MAX_UNITS
from crosslens_metrics.reports.figures import UndefinedScore, value_or_reason
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.sampling.resampling import interval_of, resample_weights, sums_by_group
from crosslens_metrics.scoring import prepare
from crosslens_metrics.signatures import Signature
from crosslens_metrics.sums import CIDER, Statistic, statistic_of
from research.inference.models import ModelCaption
from research.scoring.models import Pass, Reference, Tokenizer
from research.scoring.rules.packing import pack_floats, unpack_floats
from research.scoring.selectors.setup import mark_of

Floats = NDArray[np.float64]

RESAMPLES = 2_000
SEED = 20_200
"""The same images give the same interval whenever they are asked for."""
MIN_IMAGES = 20
"""(ours) Percentile intervals of fewer images are too narrow."""


@dataclass(frozen=True)
class SomeFigures:
    """`values` has shape (n_images,); `sums` (n_images, n_sums), or is empty where the figure is a mean of images.

    `notes` are on what was computed anew for these images.
    """

    signature: str
    values: Floats
    sums: Floats
    notes: Sequence[str] = ()

    @property
    def value(self) -> float:
        """The figure of these images together.

        Raises UndefinedFigureError if the metric is undefined on these images.
        """
        statistic = statistic_of(Signature.parse(self.signature))
        if statistic is None:
            return float(self.values.mean())
        return float(statistic(self.sums.sum(axis=0, keepdims=True))[0])

    def of(self, mask: NDArray[np.bool_]) -> SomeFigures:
        return replace(self, values=self.values[mask], sums=self.sums[mask] if len(self.sums) else self.sums)

    def with_cider(self, own: Floats, notes: Sequence[str]) -> SomeFigures:
        """Put CIDEr of each image in place of what they have: of BMRC, in place of that part."""
        if not len(self.sums):
            return replace(self, values=own, notes=notes)
        sums = self.sums.copy()
        sums[:, CIDER] = own
        return replace(self, values=self.values + 100 * (own - self.sums[:, CIDER]), sums=sums, notes=notes)


def figures_in(signature: str, values: Floats, sums: Floats) -> SomeFigures:
    """Return what is stored of a score."""
    return SomeFigures(signature, values, sums.reshape(len(values), -1) if len(sums) else sums)


def intervals_of(several: Sequence[SomeFigures]) -> list[Interval | UndefinedScore]:
    """Compute the 95% bootstrap interval of each figure, all of the same images, from the same resamples."""
    if not several:
        return []
    rng = np.random.default_rng(SEED)
    tables = [_table(one) for one in several]
    (columns,) = sums_by_group(np.concatenate([table for table, _ in tables], axis=1), groups=MAX_UNITS, rng=rng)
    resampled = np.concatenate(
        [weights @ columns for weights in resample_weights(len(columns), resamples=RESAMPLES, rng=rng)]
    )
    ends = np.cumsum([table.shape[1] for table, _ in tables])[:-1]
    parts = np.split(resampled, ends, axis=1)
    return [
        value_or_reason(lambda part=part, statistic=statistic: interval_of(statistic(part)))  # type: ignore[misc]
        for part, (_, statistic) in zip(parts, tables, strict=True)
    ]


def _table(figures: SomeFigures) -> tuple[Floats, Statistic]:
    statistic = statistic_of(Signature.parse(figures.signature))
    if statistic is not None:
        return figures.sums, statistic
    return np.stack([figures.values, np.ones(len(figures.values))], axis=1), _mean


def _mean(sums: Floats) -> Floats:
    return sums[:, 0] / sums[:, 1]


Integers = NDArray[np.int64]

WEIGHED_BY: Final = {"cider": "cider", "cider-d": "cider-d", "bmrc": "cider-d"}
"""Figures that depend on document frequencies, and the metric whose figures of images they use."""
MAX_IMAGES = 20_000
"""Of all figures of a page together: about one second. A command has no limit."""
OF_ALL_IMAGES = "all-images"
"""What a signature says of the document frequencies where they stay those of the whole scoring."""
KEPT_S = 24 * 3600
ROWS_AT_ONCE = 500
"""Images in one query: SQLite takes so many values and more."""


@dataclass(frozen=True)
class ComputingBudget:
    """What may be computed at once: some images, and whether a tokeniser may run as a program of its own."""

    images: float
    programs: bool


OF_A_PAGE = ComputingBudget(MAX_IMAGES, programs=False)
UNLIMITED = ComputingBudget(float("inf"), programs=True)


def depends_on_others(metric: str) -> bool:
    """Whether a metric's figure of an image depends on the references of other images."""
    return metric in WEIGHED_BY


def keeps_frequencies(signature: str) -> bool:
    """Whether a figure over some images was weighed by all images of its scoring."""
    return f"|df:{OF_ALL_IMAGES}" in signature


def saying_frequencies_are_kept(signature: str) -> str:
    known = Signature.parse(signature)
    settings = ((name, OF_ALL_IMAGES if name == "df" else value) for name, value in known.settings)
    return str(Signature(known.metric, tuple(settings)))


def digest_of(image_ids: Integers) -> str:
    return hashlib.sha256(np.sort(image_ids).astype("<i8").tobytes()).hexdigest()


def is_within(budget: ComputingBudget, scoring_pass: Pass, images: int) -> bool:
    return images <= budget.images and (budget.programs or scoring_pass.scoring.tokenizer != Tokenizer.PTB)


def own_cider(scoring_pass: Pass, metric: str, image_ids: Integers) -> tuple[Floats, Sequence[str]] | None:
    """Compute CIDEr of each image, shape (n_images,), with notes on it, or None if it can no longer be computed.

    That is so once captions or references have changed since the pass, until it is computed again, and where the
    tokeniser's program is missing. `scoring_pass` has its scoring and references.

    Raises UndefinedFigureError: no reference of these images has a word.
    """
    name = WEIGHED_BY[metric]
    key = f"scoring-own-noted-{scoring_pass.pk}-{name}-{digest_of(image_ids)}"
    kept = cache.get(key)
    if kept is not None:
        return unpack_floats(kept[0])[np.argsort(np.argsort(image_ids))], kept[1]
    in_order = np.sort(image_ids)
    texts = _texts(scoring_pass, in_order.tolist())
    if texts is None:
        return None
    scoring = scoring_pass.scoring
    try:
        prepared = prepare(
            *texts,
            tokenizer=scoring.tokenizer,
            language=scoring.references.language_id,
            spaced=scoring.references.language.spaced,
            normalise=scoring.normalise,
        )
    except (ToolMissingError, ToolFailedError):
        return None
    scored = prepared.scored(name)[-1]
    values = scored.scores.per_image
    cache.set(key, (pack_floats(values), scored.notes), KEPT_S)
    return np.asarray(values)[np.argsort(np.argsort(image_ids))], scored.notes


def _texts(scoring_pass: Pass, images: list[int]) -> tuple[list[str], list[list[str]]] | None:
    """Read captions and references, unless they are no longer those of the pass."""
    scoring = scoring_pass.scoring
    if scoring_pass.captions_mark != mark_of(scoring):
        return None
    if scoring_pass.references_digest != scoring.references.digest:
        return None
    language, captions = scoring.references.language_id, dict[int, str]()
    references: dict[int, list[str]] = {}
    for start in range(0, len(images), ROWS_AT_ONCE):
        some = images[start : start + ROWS_AT_ONCE]
        written = ModelCaption.objects.filter(model=scoring.model_id, language=language, image__in=some)
        captions |= dict(written.order_by().values_list("image", "text"))
        references |= Reference.objects.filter(reference_set=scoring.references_id, image__in=some).texts_by_image()
    if any(image not in captions or image not in references for image in images):
        return None
    return [captions[image] for image in images], [references[image] for image in images]
