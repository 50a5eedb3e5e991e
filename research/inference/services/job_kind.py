"""The interface of a job kind: what a run makes. The executor shares, stores and resumes runs of every kind alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from PIL import Image as Pillow

from research.inference.backends.captioners import FailedImage
from research.inference.models import Chunk, Run

WHOLE = ""
"""The only part of an image that has no languages."""


@dataclass(frozen=True)
class PendingImage:
    """An image of a chunk, with what is still to be made for it.

    Attributes
    ----------
    key : str
        SHA-256 of the original file.
    parts : tuple of str
        What is to be made: language tags, or `WHOLE`.
    original : str
        Name of the original in storage; "" where the model needs no pixels.
    pixels : int
        Of the original.
    text : str
        The input where it is a text.
    refused : str
        Why nothing can be made for it. The image fails alone, and the model never sees it.
    """

    image_id: int
    key: str
    parts: tuple[str, ...] = (WHOLE,)
    original: str = ""
    pixels: int = 0
    text: str = ""
    refused: str = ""


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

        Raises
        ------
        research.inference.backends.captioners.BackendSettingsError,
        research.inference.backends.encoders.ExtraMissingError research.inference.backends.encoders.EncoderSettingsError
        """

    def pending(self, chunk: Chunk) -> list[PendingImage]:
        """List the images of the chunk that are neither stored nor failed."""

    def proven(self) -> tuple[PendingImage, str] | None:
        """Find an image that the run has made before, and the part, to see whether the model still works."""

    def prepare(self, image: PendingImage, decoded: Pillow.Image | None) -> Any:
        """Prepare an image for the model. Called in threads, ahead of `compute`."""

    def compute(self, images: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any | FailedImage]:
        """Compute `part` for each image. Called in another thread than the one with the database.

        Raises
        ------
        research.inference.backends.captioners.OutOfMemoryError
        """

    def store(self, chunk: Chunk, outcomes: Sequence[PartOutcome], *, now: datetime) -> int:
        """Store results. Runs in a transaction that is rolled back if another worker has the chunk by now.

        Returns how many count as done: not those that another run has stored in the meantime, nor `first_part`.
        """

    def count_usage(self) -> None:
        """Store what was used since the last call, such as tokens of an endpoint.

        Raises
        ------
        research.inference.backends.captioners.BackendSettingsError
            Where the run would cost more than it may.
        """

    def finish(self, run: Run) -> None:
        """Complete the run after its last chunk. May be called twice."""
