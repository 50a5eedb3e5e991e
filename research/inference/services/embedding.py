"""Vectors of images, of a model's captions and of texts: the job kinds of encoders, and how their files are stored.

While a run makes vectors, they are stored in parts of chunks, in the end in one file. A part holds what was stored of a
chunk at once; the chunk's row says how many vectors it has, so that a part which was written by a worker that was
killed before its transaction ended counts for nothing, and is written over.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from django.core.files.storage import default_storage
from django.utils.translation import gettext as _
from numpy.typing import NDArray
from PIL import Image as Pillow

from core.images.models import Image
from core.images.services import file_storage
from core.jobs.models import JobState
from research.inference.backends.captioners import FailedImage
from research.inference.backends.encoders import EncoderSettingsError, TextEncoder
from research.inference.backends.memory import in_halves
from research.inference.models import Chunk, EmbeddingSet, Encoder, ModelCaption, Run, RunFailure
from research.inference.rules.disk_space import allocate
from research.inference.rules.runs import unpack_ids
from research.inference.selectors.embeddings import (
    IDS_FILE,
    VECTORS_FILE,
    EmbeddingsUnavailableError,
    cached_file,
    digest_of,
    open_set,
    working_file,
)
from research.inference.services import encoders
from research.inference.services.encoders import load
from research.inference.services.job_kind import WHOLE, PartOutcome, PendingImage

DIGITS_IN_NAME = 16
IDS_AT_ONCE = 500
PART = re.compile(r"(?P<position>\d+)-(?P<start>\d+)\.npy")


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
            done = ids_stored(chunk, self.set) | set(failed)
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
            put_part(chunk, self.set, [outcome.image.image_id for outcome in outcomes], vectors)
        return len(outcomes)

    def count_usage(self) -> None:
        return None

    def finish(self, run: Run) -> None:
        self.set.refresh_from_db()
        try:
            put_together(self.set)
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


def put_part(chunk: Chunk, of: EmbeddingSet, ids: Sequence[int], vectors: NDArray[Any]) -> None:
    """Append vectors to a chunk. Call it in the transaction that counts them."""
    content = io.BytesIO()
    rows = np.zeros(len(ids), dtype=[("id", "<i8"), ("vector", vectors.dtype.newbyteorder("<"), vectors.shape[1:])])
    rows["id"], rows["vector"] = ids, vectors
    np.save(content, rows, allow_pickle=False)
    row = Chunk.objects.filter(pk=chunk.pk)
    start = row.values_list("vectors", flat=True).get()
    file_storage.put(f"{_parts_folder(of)}/{chunk.position:06}-{start}.npy", content.getvalue())
    row.update(vectors=start + len(ids))


def ids_stored(chunk: Chunk, of: EmbeddingSet) -> set[int]:
    """Return the images of the chunk whose vectors are stored and counted."""
    if not chunk.vectors:
        return set()
    stored_ids = {int(one) for rows in _parts(of, [chunk]) for one in rows["id"]}
    if of.file:
        ids = np.array(unpack_ids(chunk.image_ids))
        stored_ids |= {int(one) for one in ids[open_set(of).places(ids.tolist()) >= 0]}
    return stored_ids


def put_together(of: EmbeddingSet) -> None:
    """Join all chunks' vectors in one file, in the order of the images' keys, and then delete the parts.

    May be done twice, also at the same time: the same vectors are the same file.

    Raises EncoderSettingsError where vectors are gone from storage.
    """
    chunks = list(of.run.chunks.filter(state=JobState.DONE))
    failed = set(RunFailure.objects.filter(run=of.run_id).values_list("image_id", flat=True))
    ids = np.array(sorted({one for chunk in chunks for one in unpack_ids(chunk.image_ids)} - failed), dtype="<i8")
    if not len(ids):
        raise EncoderSettingsError(_("No vector could be computed for any of the images."))
    before = of.file
    unfinished = working_file()
    try:
        vectors = _gathered(of, chunks, ids, unfinished)
        if vectors is None:
            _check_done_elsewhere(of, ids)
            return
        digest = digest_of(ids, vectors)
        name = f"{_folder(of)}/{digest[:DIGITS_IN_NAME]}/{VECTORS_FILE}"
        listed = io.BytesIO()
        np.save(listed, ids, allow_pickle=False)
        file_storage.put(_beside(name), listed.getvalue())
        with unfinished.open("rb") as file:
            file_storage.put(name, file)
        of.rows, of.dimensions, of.file, of.digest = len(ids), vectors.shape[1], name, digest
        of.save(update_fields=["rows", "dimensions", "file", "digest"])
    finally:
        unfinished.unlink(missing_ok=True)
    drop_parts(of)
    if before not in ("", name):
        default_storage.delete(before)
        default_storage.delete(_beside(before))


def drop_parts(of: EmbeddingSet) -> None:
    file_storage.remove_all(_parts_folder(of))


def _gathered(of: EmbeddingSet, chunks: Sequence[Chunk], ids: NDArray[np.int64], path: Path) -> NDArray[Any] | None:
    """Write all vectors to a local file in the order of `ids`, chunk by chunk; None if some are missing."""
    vectors: NDArray[Any] | None = None
    is_there = np.zeros(len(ids), dtype=bool)
    for positions, rows in _pieces(of, chunks):
        if vectors is None:
            kind = np.dtype(of.precision).newbyteorder("<")
            vectors = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(len(ids), rows.shape[1]))
            # Without holes: on a full disk this raises, whereas writing into a hole of a map ends the process.
            with path.open("r+b") as file:
                allocate(file.fileno(), path.stat().st_size)
        places = np.minimum(np.searchsorted(ids, positions), len(ids) - 1)
        is_ours = ids[places] == positions
        vectors[places[is_ours]] = rows[is_ours]
        is_there[places[is_ours]] = True
    return vectors if is_there.all() else None


def _check_done_elsewhere(of: EmbeddingSet, ids: NDArray[np.int64]) -> None:
    """Check that another worker has joined the vectors in the meantime and deleted the parts."""
    of.refresh_from_db()
    if not of.file or not np.array_equal(open_set(of).ids, ids):
        raise EncoderSettingsError(_("Computed vectors are missing from storage. Start another run."))


def _pieces(of: EmbeddingSet, chunks: Sequence[Chunk]) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Yield ids with vectors: of the file joined before, and of the parts since."""
    if of.file:
        whole = open_set(of)
        for start in range(0, len(whole.ids), IDS_AT_ONCE):
            chosen = slice(start, start + IDS_AT_ONCE)
            yield whole.ids[chosen], whole.vectors[chosen]
    for rows in _parts(of, chunks):
        yield rows["id"], rows["vector"]


def _parts(of: EmbeddingSet, chunks: Sequence[Chunk]) -> Iterator[NDArray[Any]]:
    """Yield the parts that count and still exist."""
    counted = {chunk.position: chunk.vectors for chunk in chunks}
    try:
        _folders, names = default_storage.listdir(_parts_folder(of))
    except FileNotFoundError:
        return
    for name in sorted(names):
        match = PART.fullmatch(name)
        if match is None or int(match["start"]) >= counted.get(int(match["position"]), 0):
            continue
        with suppress(FileNotFoundError), default_storage.open(f"{_parts_folder(of)}/{name}") as file:
            yield np.load(io.BytesIO(file.read()), allow_pickle=False)


def _folder(of: EmbeddingSet) -> str:
    return f"embeddings/{of.pk}"


def _parts_folder(of: EmbeddingSet) -> str:
    return f"{_folder(of)}/parts"


def _beside(name: str) -> str:
    return name.removesuffix(VECTORS_FILE) + IDS_FILE


@dataclass(frozen=True)
class TextVectors:
    """A row for each text, shape (n_texts, dimensions), and the encoder's facts."""

    signature: str
    space: str
    dimensions: int
    rows: NDArray[np.float32]


def text_vectors(*, encoder: Encoder, texts: Sequence[str], language: str) -> TextVectors:
    """Compute vectors of texts in `language`, or read them from the cache. It needs no database.

    What is known of the encoder then is to be kept by `services.encoders.keep_facts`.

    Raises EncoderSettingsError also where it is of another language. Raises
    research.inference.backends.encoders.ExtraMissingError.
    """
    if encoder.signature and encoder.dimensions:
        signature, space, dimensions = encoder.signature, encoder.space, encoder.dimensions
    else:
        facts = load(encoder)
        signature, space, dimensions = facts.signature, facts.space, facts.dimensions

    def make(path: Path) -> None:
        loaded: Any = load(encoder)
        # That of a projection, which has one.
        of = getattr(loaded, "language", language)
        if of != language:
            raise EncoderSettingsError(
                _("“%(name)s” encodes captions in %(theirs)s, but these are in %(ours)s.")
                % {"name": encoder.name, "theirs": of, "ours": language}
            )
        with path.open("wb") as file:
            np.save(file, _computed(loaded, texts), allow_pickle=False)

    rows = np.load(cached_file(f"{_digest(signature, language, texts)}-texts.npy", make), mmap_mode="r")
    return TextVectors(signature, space, dimensions, rows)


def _computed(encoder: TextEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Encode each text once, in batches that fit in memory and have texts of similar length, to save padding."""
    different = sorted(set(texts), key=lambda text: (len(text), text))
    rows = np.empty((len(different), encoder.dimensions), dtype=np.float32)

    def encode(chosen: slice) -> list[str]:
        rows[chosen] = encoder.vectors(different[chosen])
        return different[chosen]

    in_halves(encode, len(different), size=encoder.batch_size)
    place = {text: number for number, text in enumerate(different)}
    return rows[[place[text] for text in texts]]


def _digest(signature: str, language: str, texts: Sequence[str]) -> str:
    digest = hashlib.sha256(f"{signature}\0{language}\0".encode())
    for text in texts:
        content = text.encode("utf-8", "replace")
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()
