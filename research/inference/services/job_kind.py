"""What a run makes: the interface of job kinds, and batches put through the model.

The executor shares, stores and resumes runs of every kind alike. A batch is put through the model in another thread
than the one with the database: one that does not fit in memory is halved; an image with which the model crashes fails
alone.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from django.utils.translation import gettext as _
from PIL import Image as Pillow

from research.inference.backends.captioners import BackendDownError, BackendSettingsError, FailedImage
from research.inference.backends.encoders import EncoderSettingsError, ExtraMissingError
from research.inference.backends.memory import has_run_out, in_halves
from research.inference.models import Chunk, Run
from research.inference.services.worker_status import meter

WHOLE = ""
"""The only part of an image that has no languages."""
log = logging.getLogger(__name__)
RUN_ERRORS = (BackendSettingsError, BackendDownError, ExtraMissingError, EncoderSettingsError)
"""Errors that end the run: no image is to blame."""


@dataclass(frozen=True)
class PendingImage:
    """An image of a chunk, with what is still to be made for it."""

    image_id: int
    key: str
    """SHA-256 of the original file."""
    parts: tuple[str, ...] = (WHOLE,)
    """What is to be made: language tags, or `WHOLE`."""
    original: str = ""
    """Name of the original in storage; "" where the model needs no pixels."""
    pixels: int = 0
    """Of the original."""
    text: str = ""
    """The input where it is a text."""
    refused: str = ""
    """Why nothing can be made for it. The image fails alone, and the model never sees it."""


@dataclass(frozen=True)
class PartOutcome:
    """What was made for one part of an image, or why it failed."""

    image: PendingImage
    part: str
    result: Any


class JobKind(Protocol):
    """What a run makes. One thread calls all methods but `prepare` and `compute`; it may use the database."""

    side: int | None
    """Pixels to which the shorter side of images may be reduced; None: full size. Known after `load`."""

    batch_size: int
    """How many images per batch it starts with. Known after `load`."""

    first_part: str | None
    """A part that is stored before the others of the same image are computed. If it fails, they all fail."""

    stores_whole_chunks: bool
    """Whether the results of a chunk are stored together at its end, rather than batch by batch."""

    def load(self) -> Mapping[str, str]:
        """Load the model and describe it.

        Raises research.inference.backends.captioners.BackendSettingsError or
        research.inference.backends.encoders.ExtraMissingError
        research.inference.backends.encoders.EncoderSettingsError.
        """

    def pending(self, chunk: Chunk) -> list[PendingImage]:
        """List the images of the chunk that are neither stored nor failed."""

    def proven(self) -> tuple[PendingImage, str] | None:
        """Find an image that the run has made before, and the part, to see whether the model still works."""

    def prepare(self, image: PendingImage, decoded: Pillow.Image | None) -> Any:
        """Prepare an image for the model. Called in threads, ahead of `compute`."""

    def compute(self, images: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any | FailedImage]:
        """Compute `part` for each image. Called in another thread than the one with the database.

        Raises research.inference.backends.captioners.OutOfMemoryError.
        """

    def store(self, chunk: Chunk, outcomes: Sequence[PartOutcome], *, now: datetime) -> int:
        """Store results. Runs in a transaction that is rolled back if another worker has the chunk by now.

        Returns how many count as done: not those that another run has stored in the meantime, nor `first_part`.
        """

    def count_usage(self) -> None:
        """Store what was used since the last call, such as tokens of an endpoint.

        Raises research.inference.backends.captioners.BackendSettingsError where the run would cost more than it may.
        """

    def finish(self, run: Run) -> None:
        """Complete the run after its last chunk. May be called twice."""


@dataclass(frozen=True)
class CrashedImage(FailedImage):
    """The backend raised an exception with this image alone. If it does so with all, no image is to blame."""

    traceback: str = ""


def traceback_of(error: BaseException) -> str:
    """Format the traceback for the run's log, without the message, which may contain a caption."""
    frames = traceback.format_tb(error.__traceback__)
    return "".join([*frames, type(error).__name__])


@dataclass(frozen=True)
class BatchResult:
    """`size` is the size of the largest batch that fitted, and so of the next ones."""

    outcomes: list[PartOutcome]
    size: int


def compute_batch(
    job_kind: JobKind, images: Sequence[PendingImage], prepared: Sequence[Any], part: str, *, size: int
) -> BatchResult:
    """Raises BackendSettingsError, BackendDownError, ExtraMissingError or EncoderSettingsError."""
    results, size = computed_apart(
        lambda chosen: job_kind.compute(images[chosen], prepared[chosen], part),
        [f"Image {image.key}, {part}" for image in images],
        size=size,
        failed=_("The model failed on it (%(error)s)."),
        too_large=_("Memory ran out, even for this image by itself."),
    )
    outcomes = [PartOutcome(image, part, result) for image, result in zip(images, results, strict=True)]
    return BatchResult(outcomes, size)


def computed_apart(
    compute: Callable[[slice], Sequence[Any]], names: Sequence[str], *, size: int, failed: str, too_large: str
) -> tuple[list[Any], int]:
    """Compute a result for each of the `names`, which the log has: what the model crashes with fails alone.

    Also returns how many at once fitted in memory. What does not fit even by itself is a crash and not a plain failure:
    if everything is too large, something else has taken the memory.

    Raises BackendSettingsError, BackendDownError, ExtraMissingError or EncoderSettingsError.
    """

    def results(chosen: slice) -> list[Any]:
        some = names[chosen]
        try:
            made = list(compute(chosen))
            if len(made) != len(some):
                raise ValueError(f"{len(made)} results for {len(some)}")
            return made
        except RUN_ERRORS:
            raise
        except Exception as error:
            if has_run_out(error):
                raise
            if len(some) == 1:
                log.exception("%s", some[0])
                return [CrashedImage(failed % {"error": type(error).__name__}, traceback_of(error))]

        def alone(one: slice) -> list[Any]:
            return results(slice(chosen.start + one.start, chosen.start + one.stop))

        return in_halves(alone, len(some), size=1, too_large=crashed)[0]

    def crashed() -> CrashedImage:
        return CrashedImage(too_large)

    with meter.computing():
        return in_halves(results, len(names), size=size, too_large=crashed)
