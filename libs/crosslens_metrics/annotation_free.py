"""Projections and features by the names of images, put in the order of the captions that are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.named_vectors import MalformedVectorsError, NamedVectors
from crosslens_metrics.signatures import sample_digest

NAMES_SHOWN = 5


@dataclass(frozen=True)
class VectorProjections:
    """Captions and images as vectors of one space, one row for each image, in the order of the captions.

    - `encoder`: what made those of the captions, with its version: it stands in the signature.
    - `candidates`: shape (n_images, dimensions): of the model's captions.
    - `references`: shape (n_images, dimensions), optional: of English references. CMedRel does without.
    - `images`: shape (n_images, dimensions), optional: features of the images. CLinRel does without.
    - `english`: digest of the English references (`crosslens_metrics.signatures.references_digest`): it stands in the
      signature.
    - `english_encoder` and `features_encoder`: what made those of the references and of the images, where it is not
      `encoder`. Only signatures of metrics that use them have them.
    - `sample`: digest of the images' names (`crosslens_metrics.signatures.sample_digest`): it stands in CMedRel's
      signature, which has no references to tell the images by.
    """

    encoder: str
    candidates: ArrayLike
    references: ArrayLike | None = None
    images: ArrayLike | None = None
    english: str | None = None
    english_encoder: str | None = None
    features_encoder: str | None = None
    sample: str | None = None

    def encoders(self, *others: str | None) -> str:
        """The names of the captions' encoder and of others, each once."""
        return "+".join(dict.fromkeys([self.encoder, *(other for other in others if other)]))


def projections_of(
    images: Sequence[str],
    *,
    candidates: NamedVectors,
    references: NamedVectors | None = None,
    features: NamedVectors | None = None,
) -> VectorProjections:
    """What `crosslens_metrics.scoring.score` takes for CLinRel, CMedRel and WCC.

    - `images`: length n_images: names, in the order of the captions that are scored. Vectors of other images are left
      out.
    - `candidates`: projections of the candidates, one for each image.
    - `references`: projections of the English references. Of several for an image, the mean of their directions is
      taken.
    - `features`: features of the images.
    - returned: vectors of length 1 at most, one for each image, in the order of `images`.

    Raises MalformedVectorsError where an image has no vector, or more than it may have; where a vector is zero
    throughout; where vectors lie in different spaces.
    """
    given = [("candidates", candidates), ("references", references), ("images", features)]
    parts = [(what, vectors) for what, vectors in given if vectors is not None]
    for what, vectors in parts[1:]:
        if vectors.space != candidates.space:
            raise MalformedVectorsError(
                f"The candidates' vectors lie in the space {candidates.space}, those of the {what} in {vectors.space}: "
                "they cannot be compared."
            )
    return VectorProjections(
        encoder=candidates.signature,
        english_encoder=None if references is None else references.signature,
        features_encoder=None if features is None else features.signature,
        candidates=_rows(images, candidates, "candidates"),
        references=None if references is None else _rows(images, references, "references", several=True),
        images=None if features is None else _rows(images, features, "images"),
        sample=sample_digest(images),
    )


def _rows(images: Sequence[str], vectors: NamedVectors, what: str, *, several: bool = False) -> NDArray[np.float64]:
    rows_named = vectors.rows()
    places = {image: found for image in images if (found := rows_named.first(image)) is not None}
    missing = [image for image in images if image not in places]
    if missing:
        more = f" and {len(missing) - NAMES_SHOWN:,} more" if missing[NAMES_SHOWN:] else ""
        raise MalformedVectorsError(f"The vectors of the {what} lack images {', '.join(missing[:NAMES_SHOWN])}{more}.")
    rows = []
    for image in images:
        row = vectors.vectors[places[image]].astype(np.float64)
        if len(row) > 1 and not several:
            raise MalformedVectorsError(f"The vectors of the {what} have image {image} {len(row)} times.")
        lengths = np.linalg.norm(row, axis=1, keepdims=True)
        mean = (row / np.where(lengths, lengths, 1.0)).mean(axis=0)
        if not lengths.all() or not mean.any():
            raise MalformedVectorsError(f"The vector of the {what} for image {image} is zero throughout.")
        rows.append(mean)
    return np.array(rows)
