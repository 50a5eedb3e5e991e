"""The figures of some images of a pass by one metric, and what follows from them for these images together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.bootstrap import interval_of, resample_weights, sums_by_group
from crosslens_metrics.intervals import Interval
from crosslens_metrics.paired import MAX_UNITS
from crosslens_metrics.reports.figures import UndefinedScore, value_or_reason
from crosslens_metrics.signatures import Signature
from crosslens_metrics.sums import CIDER, Statistic, statistic_of

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

        Raises
        ------
        UndefinedFigureError
            If the metric is undefined on these images.
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
