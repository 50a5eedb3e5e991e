"""What a kind of work agrees to, so that runs of it are cut up, shared, stored and taken up again like all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from PIL import Image as Pillow

from inference.backends.captioners import Failed
from inference.models import Chunk, Run

WHOLE = ""
"""The only part of an item that has no languages."""


@dataclass(frozen=True)
class PendingImage:
    """An image of a chunk, with what is still to be made of it.

    Attributes
    ----------
    key : str
        SHA-256 of the original file.
    parts : tuple of str
        What is to be made: language tags, or `WHOLE`.
    picture : str
        Name in storage of what is to be read for it; "" where no picture is looked at.
    pixels : int
        Of that picture.
    text : str
        What is worked on where it is no picture.
    refused : str
        Why nothing can be made of it: it fails alone, unseen by the model.
    """

    image_id: int
    key: str
    parts: tuple[str, ...] = (WHOLE,)
    picture: str = ""
    pixels: int = 0
    text: str = ""
    refused: str = ""


@dataclass(frozen=True)
class Made:
    item: PendingImage
    part: str
    result: Any


class Work(Protocol):
    """What is made in a run. All but `prepare` and `compute` is called by one thread, which may ask the database."""

    side: int | None
    """Pixels to which the shorter side of pictures may be made smaller; None: as they are. Known once it is loaded."""

    batch_size: int
    """How many images at once it starts with. Known once it is loaded."""

    first: str | None
    """A part that is stored before others of the same image are computed, and fails them all where it fails."""

    is_kept_whole: bool
    """Whether what is made of a chunk is stored together at its end, and not batch by batch."""

    unit: str
    """What is counted, for the log: "captions"."""

    def load(self) -> Mapping[str, str]:
        """Get the model ready, and say what it is.

        Raises
        ------
        inference.backends.captioners.BackendSettingsError, inference.backends.encoders.ExtraMissingError
        inference.backends.encoders.EncoderSettingsError
        """

    def missing(self, chunk: Chunk) -> list[PendingImage]:
        """What of the chunk is neither stored nor failed."""

    def prepare(self, item: PendingImage, picture: Pillow.Image | None) -> Any:
        """Make an item ready for the model. Called in threads, ahead of it."""

    def compute(self, items: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any | Failed]:
        """The `part` of each item. Called beside the thread that has the database.

        Raises
        ------
        inference.backends.captioners.OutOfMemoryError
        """

    def keep(self, chunk: Chunk, made: Sequence[Made], *, now: datetime) -> int:
        """Store what was made, in a transaction of the chunk that is undone if the chunk is another worker's by now.

        Returns how many of them count as done: what another run stored in the meantime does not, nor does `first`.
        """

    def whole(self, run: Run) -> None:
        """All chunks are done. May be called twice."""
