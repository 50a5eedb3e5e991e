"""The job kinds of encoders: vectors of images, and of a model's captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from PIL import Image as Pillow

from core.images.models import Image
from core.jobs.models import JobState
from research.inference.backends.captioners import FailedImage
from research.inference.backends.encoders import EncoderSettingsError
from research.inference.models import Chunk, EmbeddingSet, Encoder, ModelCaption, Run, RunFailure
from research.inference.rules.runs import unpack_ids
from research.inference.selectors.embeddings import EmbeddingsUnavailableError
from research.inference.services import embedding_store, encoders
from research.inference.services.job_kind import WHOLE, PartOutcome, PendingImage


class ImageEmbeddingJob:
    """Features of images, read at full size: only the encoder reduces them, so that all are reduced alike."""

    first_part: str | None = None
    stores_whole_chunks = True
    side: int | None = None

    def __init__(self, run: Run, encoder: Encoder) -> None:
        self.run, self.encoder = run, encoder
        self.set = EmbeddingSet.objects.select_related("run", "captions_of").get(run=run)
        self.batch_size = run.batch_size

    def load(self) -> Mapping[str, str]:
        self.loaded: Any = encoders.load(self.encoder)
        encoders.keep_facts(self.encoder, self.loaded)
        self.batch_size = self.loaded.batch_size
        described: Mapping[str, str] = self.loaded.describe()
        return described

    def pending(self, chunk: Chunk) -> list[PendingImage]:
        image_ids = unpack_ids(chunk.image_ids)
        failed = RunFailure.objects.filter(run=self.run, image_id__in=image_ids).values_list("image_id", flat=True)
        try:
            done = embedding_store.ids_stored(chunk, self.set) | set(failed)
        except EmbeddingsUnavailableError as error:
            raise EncoderSettingsError(str(error)) from error
        images = Image.objects.in_bulk([image_id for image_id in image_ids if image_id not in done])
        return self._pending_images([images[image_id] for image_id in image_ids if image_id in images])

    def _pending_images(self, images: Sequence[Image]) -> list[PendingImage]:
        return [
            PendingImage(image.pk, image.sha256, original=image.original, pixels=image.width * image.height)
            for image in images
        ]

    def proven(self) -> tuple[PendingImage, str] | None:
        failed = set(RunFailure.objects.filter(run=self.run).values_list("image_id", flat=True))
        for chunk in Chunk.objects.filter(run=self.run, state=JobState.DONE).iterator():
            for image_id in unpack_ids(chunk.image_ids):
                if image_id not in failed:
                    (image,) = self._pending_images([Image.objects.get(pk=image_id)])
                    return image, WHOLE
        return None

    def prepare(self, image: PendingImage, decoded: Pillow.Image | None) -> Any:
        return self.loaded.prepare(decoded)

    def compute(self, images: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any | FailedImage]:
        return self._stored_vectors(self.loaded.features_of(prepared))

    def _stored_vectors(self, rows: Any) -> list[Any | FailedImage]:
        """Round vectors to the precision in which they are stored; those that overflow fail."""
        with np.errstate(over="ignore"):
            stored = rows.astype(self.set.precision)
        return [
            vector if np.isfinite(vector).all() else FailedImage(_reason(row))
            for vector, row in zip(stored, rows, strict=True)
        ]

    def store(self, chunk: Chunk, outcomes: Sequence[PartOutcome], *, now: datetime) -> int:
        if outcomes:
            vectors = np.stack([outcome.result for outcome in outcomes])
            embedding_store.put_part(chunk, self.set, [outcome.image.image_id for outcome in outcomes], vectors)
        return len(outcomes)

    def count_usage(self) -> None:
        return None

    def finish(self, run: Run) -> None:
        self.set.refresh_from_db()
        try:
            embedding_store.put_together(self.set)
        except EmbeddingsUnavailableError as error:
            raise EncoderSettingsError(str(error)) from error


class CaptionEmbeddingJob(ImageEmbeddingJob):
    """Vectors of a model's stored captions in one language."""

    def _pending_images(self, images: Sequence[Image]) -> list[PendingImage]:
        captions = ModelCaption.objects.filter(model=self.set.captions_of, language=self.set.language_id)
        texts = dict(captions.filter(image__in=images).values_list("image_id", "text"))
        no_caption = _("“%(model)s” has no caption of it in this language.") % {"model": self.set.captions_of}
        return [
            PendingImage(
                image.pk,
                image.sha256,
                text=texts.get(image.pk, ""),
                refused="" if image.pk in texts else no_caption,
            )
            for image in images
        ]

    def prepare(self, image: PendingImage, decoded: Pillow.Image | None) -> Any:
        return image.text

    def compute(self, images: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any | FailedImage]:
        return self._stored_vectors(self.loaded.vectors(prepared))


def _reason(vector: Any) -> str:
    if np.isfinite(vector).all():
        return _("A number of its vector is too large for 16 bits. Compute the vectors with 32.")
    return _("The encoder returned something that is not a number.")


def embedding_kind(run: Run, encoder: Encoder) -> ImageEmbeddingJob:
    of_captions = EmbeddingSet.objects.filter(run=run, captions_of__isnull=False)
    return CaptionEmbeddingJob(run, encoder) if of_captions.exists() else ImageEmbeddingJob(run, encoder)
