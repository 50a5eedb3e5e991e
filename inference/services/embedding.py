"""Vectors of images, or of what a model says of them: what is made in runs of encoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from PIL import Image as Pillow

from images.models import Image
from inference.backends.captioners import Failed
from inference.backends.encoders import EncoderSettingsError
from inference.models import Chunk, EmbeddingSet, Encoder, ModelCaption, Run, RunFailure
from inference.rules.runs import unpack_ids
from inference.selectors.embeddings import EmbeddingsUnavailableError
from inference.services import embedding_store, encoders
from inference.services.job_kind import Made, PendingImage


class ImageEmbedding:
    """Features of the pictures, each read as it is: only the encoder makes it smaller, so that all have them alike."""

    first: str | None = None
    is_kept_whole = True
    unit = "vectors"
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

    def missing(self, chunk: Chunk) -> list[PendingImage]:
        image_ids = unpack_ids(chunk.image_ids)
        failed = RunFailure.objects.filter(run=self.run, image_id__in=image_ids).values_list("image_id", flat=True)
        try:
            there = embedding_store.ids_stored(chunk, self.set) | set(failed)
        except EmbeddingsUnavailableError as error:
            raise EncoderSettingsError(str(error)) from error
        images = Image.objects.in_bulk([one for one in image_ids if one not in there])
        return self._items([images[one] for one in image_ids if one in images])

    def _items(self, images: Sequence[Image]) -> list[PendingImage]:
        return [PendingImage(one.pk, one.sha256, picture=one.original, pixels=one.width * one.height) for one in images]

    def prepare(self, item: PendingImage, picture: Pillow.Image | None) -> Any:
        return self.loaded.prepare(picture)

    def compute(self, items: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any | Failed]:
        return self._kept(self.loaded.features_of(prepared))

    def _kept(self, rows: Any) -> list[Any | Failed]:
        """The vectors in as many bits as they are stored in."""
        with np.errstate(over="ignore"):
            stored = rows.astype(self.set.precision)
        return [
            one if np.isfinite(one).all() else Failed(_why_not(given)) for one, given in zip(stored, rows, strict=True)
        ]

    def keep(self, chunk: Chunk, made: Sequence[Made], *, now: datetime) -> int:
        if made:
            rows = np.stack([one.result for one in made])
            embedding_store.put_part(chunk, self.set, [one.item.image_id for one in made], rows)
        return len(made)

    def whole(self, run: Run) -> None:
        self.set.refresh_from_db()
        try:
            embedding_store.put_together(self.set)
        except EmbeddingsUnavailableError as error:
            raise EncoderSettingsError(str(error)) from error


class CaptionEmbedding(ImageEmbedding):
    """Vectors of a model's stored captions in one language."""

    def _items(self, images: Sequence[Image]) -> list[PendingImage]:
        captions = ModelCaption.objects.filter(model=self.set.captions_of, language=self.set.language_id)
        texts = dict(captions.filter(image__in=images).values_list("image_id", "text"))
        none = _("“%(model)s” has no caption of it in this language.") % {"model": self.set.captions_of}
        return [
            PendingImage(one.pk, one.sha256, text=texts.get(one.pk, ""), refused="" if one.pk in texts else none)
            for one in images
        ]

    def prepare(self, item: PendingImage, picture: Pillow.Image | None) -> Any:
        return item.text

    def compute(self, items: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any | Failed]:
        return self._kept(self.loaded.vectors(prepared))


def _why_not(given: Any) -> str:
    if np.isfinite(given).all():
        return _("A number of its vector is too large for 16 bits. Compute the vectors with 32.")
    return _("The encoder gave what is no number.")


def work_of(run: Run, encoder: Encoder) -> ImageEmbedding:
    """What is made in a run of an encoder."""
    subject = EmbeddingSet.objects.filter(run=run, captions_of__isnull=False)
    return CaptionEmbedding(run, encoder) if subject.exists() else ImageEmbedding(run, encoder)
