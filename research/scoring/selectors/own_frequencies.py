"""Compute CIDEr over some of the images of a pass, weighed by the references of these images alone.

A scoring keeps CIDEr of each image as all its images weigh it. The public tool, run on some of the images, counts
document frequencies in the references that it is given: other weights, and another CIDEr of every image.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from django.core.cache import cache
from numpy.typing import NDArray

from crosslens_metrics.java import ToolFailedError, ToolMissingError
from crosslens_metrics.scoring import prepare
from crosslens_metrics.signatures import Signature
from research.inference.models import ModelCaption
from research.scoring.models import Pass, Reference, Tokenizer
from research.scoring.rules.packing import pack_floats, unpack_floats
from research.scoring.selectors.setup import mark_of

Floats = NDArray[np.float64]
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

    Raises
    ------
    UndefinedFigureError
        No reference of these images has a word.
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
