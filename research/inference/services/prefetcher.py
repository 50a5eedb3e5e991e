"""Read and prepare images ahead of the model: in threads, across chunks, with bounded memory."""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from django.core.files.storage import default_storage
from django.utils.translation import gettext as _
from PIL import Image as Pillow

from core.images.rules.resizing import decoded_upright
from research.inference.backends.captioners import FailedImage
from research.inference.models import Chunk
from research.inference.services.job_kind import CrashedImage, JobKind, PartOutcome, PendingImage, traceback_of

LARGE_PIXELS = 16_000_000
_large = threading.Lock()
"""Large images are decoded one at a time: eight of 80 million pixels would take gigabytes."""
log = logging.getLogger(__name__)
THREADS = min(8, os.cpu_count() or 2)
BATCHES_AHEAD = 2
"""Prepared while the device computes: one to start at once, and one in case reading takes long."""


class UnreadableImageError(Exception):
    """The image cannot be read; the message says why."""


def read_image(name: str, *, side: int | None, pixels: int) -> Pillow.Image:
    """Read the image of that name in storage, and reduce its shorter side to `side`.

    Raises UnreadableImageError.
    """
    with _large if pixels > LARGE_PIXELS else nullcontext():
        try:
            with default_storage.open(name) as file:
                return decoded_upright(file, side=side)
        except FileNotFoundError as error:
            raise UnreadableImageError(_("Its file is missing from storage.")) from error
        except Exception as error:  # decoders raise nearly anything on a broken file
            raise UnreadableImageError(
                _("It cannot be read as an image (%(error)s).") % {"error": type(error).__name__}
            ) from error


@dataclass(eq=False)
class ClaimedChunk:
    """A chunk that this worker has claimed."""

    chunk: Chunk
    images: deque[PendingImage]
    parts_left: int
    """Parts of its images that have no outcome yet."""
    is_suspect: bool = False
    """An earlier worker died in this chunk, and one image may be to blame: they run and are stored one at a time."""
    unstored: list[PartOutcome] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    traceback: str = ""
    """Of the first image with which the model crashed."""
    is_lost: bool = False


@dataclass(eq=False)
class ImageBatch:
    """Images that are computed together, part by part, while their prepared inputs are in memory."""

    claimed: ClaimedChunk
    images: list[PendingImage]
    prepared: list[Future[Any]]


class Prefetcher:
    """Batches of at most `batch_size` images, from the chunks that `claim` returns."""

    def __init__(
        self, job_kind: JobKind, threads: ThreadPoolExecutor, claim: Callable[[], ClaimedChunk | None]
    ) -> None:
        self._job_kind, self._threads, self._claim = job_kind, threads, claim
        self._ahead: deque[ImageBatch] = deque()
        self._is_exhausted = False
        self.chunks: list[ClaimedChunk] = []
        self.batch_size = 1

    def batches(self) -> Iterator[ImageBatch]:
        while True:
            self._fill()
            if not self._ahead:
                return
            batch = self._ahead.popleft()
            if not batch.claimed.is_lost:
                if not batch.claimed.is_suspect:
                    self._fill()
                yield batch

    def waiting(self) -> list[PendingImage]:
        """List the images of its chunks that nobody has been given yet, without those that may end workers."""
        batched = [image for batch in self._ahead if not batch.claimed.is_suspect for image in batch.images]
        return batched + [image for one in self.chunks if not one.is_suspect for image in one.images]

    def _fill(self) -> None:
        while len(self._ahead) < BATCHES_AHEAD and (claimed := self._chunk_with_images()) is not None:
            if claimed.is_suspect and self._ahead:
                return
            size = 1 if claimed.is_suspect else self.batch_size
            images = [claimed.images.popleft() for _ in range(min(size, len(claimed.images)))]
            prepared = [self._threads.submit(self.prepare, image) for image in images]
            self._ahead.append(ImageBatch(claimed, images, prepared))

    def _chunk_with_images(self) -> ClaimedChunk | None:
        for claimed in self.chunks:
            if claimed.images and not claimed.is_lost:
                return claimed
        # A suspect chunk is worked on alone, so that no other one can be blamed if this worker dies, too.
        if self._is_exhausted or any(claimed.is_suspect for claimed in self.chunks):
            return None
        next_chunk = self._claim()
        if next_chunk is None:
            self._is_exhausted = True
        else:
            self.chunks.append(next_chunk)
        return next_chunk

    def prepare(self, image: PendingImage) -> Any:
        """Read and prepare one image; if that fails, it fails alone. Called in threads of the pool."""
        if image.refused:
            return FailedImage(image.refused)
        try:
            side = self._job_kind.side
            decoded = read_image(image.original, side=side, pixels=image.pixels) if image.original else None
            return self._job_kind.prepare(image, decoded)
        except UnreadableImageError as unreadable:
            return FailedImage(str(unreadable))
        except Exception as error:
            log.exception("Image %s", image.key)
            reason = _("The model cannot process it (%(error)s).") % {"error": type(error).__name__}
            return CrashedImage(reason, traceback_of(error))
