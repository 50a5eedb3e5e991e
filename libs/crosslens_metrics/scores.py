"""What a metric gives: one figure for the corpus and one for each image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class MetricScores:
    """Scores of one model's captions, on the scale of the metric's reference implementation."""

    corpus: float
    """The figure for all images. Not the mean of `per_image` for every metric: BLEU sums up counts first."""
    per_image: NDArray[np.float64]
    """Shape (n_images,): in the order of the captions that were scored."""
    sums: NDArray[np.float64] | None = None
    """Shape (n_images, n_sums), optional: what each image adds to the sums that `corpus` follows from
    (`crosslens_metrics.sums` says how), where it is no mean.
    """
