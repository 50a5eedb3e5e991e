"""The settings of a projection, and its signature."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


class ProjectionError(Exception):
    """A projection cannot be trained or used; the message says why."""


@dataclass(frozen=True)
class ProjectionConfig:
    """How a projection is built and trained.

    Attributes
    ----------
    least_count : int
        Words that come less often in the training captions are left out of the bag of words and the GRU.
    word_dimensions : int
        Of the GRU's words where no word vectors are given; else they have as many as the vectors.
    recurrent, hidden : int
        Units of the GRU and of the middle layer of the MLP.
    dropout : float
        Share of the middle layer left out in training.
    margin : float
        By how much the right image is to be nearer than the nearest wrong one, as a cosine.
    learning_rate : float
        For RMSprop; falls by a hundredth each epoch.
    batch, epochs, seed : int
    """

    least_count: int = 1
    word_dimensions: int = 300
    recurrent: int = 512
    hidden: int = 1024
    dropout: float = 0.2
    margin: float = 0.2
    learning_rate: float = 3e-4
    batch: int = 128
    epochs: int = 50
    seed: int = 1

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
