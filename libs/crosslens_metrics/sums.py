"""Corpus figures that are no means of those of single images, but follow from sums over images."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.bleu import bleu_of_sums
from crosslens_metrics.meteor import meteor_of_sums
from crosslens_metrics.relevance import bmrc
from crosslens_metrics.scores import MetricScores
from crosslens_metrics.signatures import Signature

Sums = NDArray[np.float64]
Statistic = Callable[[Sums], NDArray[np.float64]]

OF_BLEU_4, OF_METEOR = slice(0, 10), slice(10, 16)
IMAGES, ROUGE_L, CIDER = 16, 17, 18


def statistic_of(signature: Signature) -> Statistic | None:
    """How the corpus figure follows from `MetricScores.sums` summed up; None where it is the mean over images.

    It takes an array of shape (n_some, n_sums) and gives one of shape (n_some,), for `crosslens_metrics.paired`.
    """
    name, language = signature.metric, signature.get("params") or signature.get("lang") or ""
    if name in {f"bleu-{order}" for order in (1, 2, 3, 4)}:
        return partial(bleu_of_sums, order=int(name.removeprefix("bleu-")))
    if name == "meteor":
        return partial(meteor_of_sums, language=language)
    if name == "bmrc":
        return partial(bmrc_of_sums, language=language)
    return None


def bmrc_sums(bleu_4: MetricScores, meteor: MetricScores, rouge_l: MetricScores, cider: MetricScores) -> Sums:
    """What each image adds to the sums of `bmrc_of_sums`.

    - `bleu_4`, `meteor`, `rouge_l` and `cider`: of the same images, in the same order.
    - returned: shape (n_images, 19): those of BLEU-4, those of METEOR, 1, ROUGE-L, CIDEr.

    Raises ValueError where BLEU-4 or METEOR has no sums.
    """
    if bleu_4.sums is None or meteor.sums is None:
        raise ValueError("BMRC's sums need those of BLEU-4 and of METEOR.")
    single = [np.ones(len(rouge_l.per_image)), rouge_l.per_image, cider.per_image]
    return np.concatenate([bleu_4.sums, meteor.sums, np.stack(single, axis=1)], axis=1)


def bmrc_of_sums(sums: ArrayLike, *, language: str) -> NDArray[np.float64]:
    """BMRC of sums over images: of the corpus figures of BLEU-4 and METEOR, and the means of ROUGE-L and CIDEr.

    Parameters
    ----------
    sums : array_like of float, shape (n_some, 19)
        As `bmrc_sums`.
    language : str
        As METEOR's.

    Returns
    -------
    ndarray of float, shape (n_some,)
        On the scale of `crosslens_metrics.relevance.bmrc`.
    """
    table = np.asarray(sums, dtype=np.float64)
    means = table[:, [ROUGE_L, CIDER]] / table[:, [IMAGES]]
    return bmrc(
        bleu_of_sums(table[:, OF_BLEU_4], order=4),
        meteor_of_sums(table[:, OF_METEOR], language=language),
        means[:, 0],
        means[:, 1],
    )
