"""Project captions, English references and images into one space, where CLinRel, CMedRel and WCC compare them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from numpy.typing import NDArray

from core.languages.rules.registry import ENGLISH
from crosslens_metrics.annotation_free import VectorProjections
from crosslens_metrics.scoring import MissingInputError
from crosslens_metrics.signatures import references_digest
from research.inference.models import EmbeddingSet, Encoder, WeightPrecision
from research.inference.selectors.embeddings import newest_covering, open_set, whole_sets
from research.inference.services.embedding import TextVectors, text_vectors
from research.inference.services.encoders import keep_facts, load
from research.scoring.models import Reference, Scoring
from research.scoring.rules.metrics import NEED_ENGLISH, NEED_FEATURES
from research.scoring.selectors.setup import ScoringMaterial

SETS_LOOKED_AT = 3
LENGTHS_AT_ONCE = 4096


class VisualInputs:
    """Reads the database when it is made; its projections take long and need no database."""

    def __init__(self, scoring: Scoring, encoder: Encoder, material: ScoringMaterial) -> None:
        self.scoring, self.encoder, self.material = scoring, encoder, material
        self.english = _english_of(scoring, material)
        self.english_encoder = scoring.english_encoder or encoder
        # Those in 16 bits would give another figure than the captions themselves do.
        sets = whole_sets(
            encoder=encoder,
            captions_of=scoring.model,
            language=scoring.references.language_id,
            project=scoring.project_id,
        )
        self.sets = list(sets.filter(precision=WeightPrecision.FLOAT32)[:SETS_LOOKED_AT])
        self.facts: dict[Encoder, TextVectors] = {}

    def projections(self, metric: str) -> VectorProjections:
        """Compute the projections that `metric` compares.

        Raises MissingInputError where an image lacks something, or vectors lie in different spaces. Raises
        research.inference.backends.captioners.BackendSettingsError or
        research.inference.backends.encoders.ExtraMissingError,
        research.inference.selectors.embeddings.EmbeddingsUnavailableError.
        """
        signature, space = self._facts(self.encoder)
        spaces = {space}
        english_encoder: str | None = None
        features_encoder: str | None = None
        if self.english is not None and metric in NEED_ENGLISH:
            english_encoder, space = self._facts(self.english_encoder)
            spaces.add(space)
        if self.scoring.features is not None and metric in NEED_FEATURES:
            features_encoder = _signature_of(self.scoring.features)
            spaces.add(self.scoring.features.encoder.space)
        if len(spaces) > 1:
            raise MissingInputError(
                _("The vectors are in different spaces, so they cannot be compared: %(spaces)s.")
                % {"spaces": ", ".join(sorted(spaces))}
            )
        return VectorProjections(
            encoder=signature,
            english_encoder=english_encoder,
            features_encoder=features_encoder,
            candidates=self._candidates(),
            references=self._english_vectors() if metric in NEED_ENGLISH else None,
            images=self._features() if metric in NEED_FEATURES else None,
            english=None if self.english is None else references_digest([texts for texts in self.english if texts]),
            sample=self.material.sample,
        )

    def keep_facts(self) -> None:
        """Store the facts of the encoders. Call it in the thread with the database.

        Raises research.inference.backends.encoders.EncoderSettingsError.
        """
        for encoder, facts in self.facts.items():
            keep_facts(encoder, facts)

    def _facts(self, encoder: Encoder) -> tuple[str, str]:
        if encoder.signature:
            return encoder.signature, encoder.space
        loaded = load(encoder)
        return loaded.signature, loaded.space

    def _candidates(self) -> NDArray[Any]:
        covering = newest_covering(self.material.images, self.sets)
        if covering is not None:
            rows: NDArray[Any] = covering[1].rows(self.material.images)
        else:
            rows = self._texts(self.encoder, self.material.captions, self.scoring.references.language_id)
        return _with_direction(rows)

    def _english_vectors(self) -> NDArray[np.float32]:
        """Compute the mean direction of each image's references."""
        english = self.english or []
        missing = sum(not texts for texts in english)
        if missing:
            message = ngettext(
                "%(number)s image has no English reference in the chosen set.",
                "%(number)s images have no English reference in the chosen set.",
                missing,
            )
            raise MissingInputError(message % {"number": missing})
        counts = np.array([len(texts) for texts in english])
        flat = [text for texts in english for text in texts]
        rows = _with_direction(self._texts(self.english_encoder, flat, ENGLISH))
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        means: NDArray[np.float32] = np.add.reduceat(unit, np.cumsum([0, *counts[:-1]])) / counts[:, None]
        return means.astype(np.float32)

    def _features(self) -> NDArray[Any]:
        assert self.scoring.features is not None
        opened = open_set(self.scoring.features)
        missing = int((opened.places(self.material.images) < 0).sum())
        if missing:
            message = ngettext(
                "%(number)s image has no vector in the chosen features. Compute the collection's features again.",
                "%(number)s images have no vector in the chosen features. Compute the collection's features again.",
                missing,
            )
            raise MissingInputError(message % {"number": missing})
        return _with_direction(opened.rows(self.material.images))

    def _texts(self, encoder: Encoder, texts: Sequence[str], language: str) -> NDArray[np.float32]:
        self.facts[encoder] = vectors = text_vectors(encoder=encoder, texts=texts, language=language)
        return vectors.rows


def visual_of(scoring: Scoring, material: ScoringMaterial) -> VisualInputs | None:
    """Prepare the projections; None if the scoring names no encoder."""
    return VisualInputs(scoring, scoring.encoder, material) if scoring.encoder is not None else None


def _english_of(scoring: Scoring, material: ScoringMaterial) -> Sequence[Sequence[str]] | None:
    """Read the English references of each image; the scoring's own if they are English."""
    if scoring.english is None:
        if scoring.references.is_without_captions:
            return None
        return material.references if scoring.references.language_id == ENGLISH else None
    texts = Reference.objects.filter(reference_set=scoring.english).texts_by_image()
    return [texts[image] for image in material.images]


def _signature_of(features: EmbeddingSet) -> str:
    """Add the precision to the signature, because it changes the figures' last digits."""
    signature = features.encoder.signature
    return signature if features.precision == WeightPrecision.FLOAT32 else f"{signature}.{features.precision}"


def _with_direction(rows: NDArray[Any]) -> NDArray[Any]:
    zeros = sum(
        int((~np.asarray(rows[start : start + LENGTHS_AT_ONCE]).any(axis=1)).sum())
        for start in range(0, len(rows), LENGTHS_AT_ONCE)
    )
    if zeros:
        message = ngettext(
            "%(number)s vector is all zeros, so it has no direction.",
            "%(number)s vectors are all zeros, so they have no direction.",
            zeros,
        )
        raise MissingInputError(message % {"number": zeros})
    return rows
