"""The interface of captioners whose weights can be changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from PIL import Image

from research.inference.backends.captioners import Decoding, FailedImage, GeneratedCaption


@dataclass(frozen=True)
class TrainingRow:
    """A caption as the model's tokens. The first `given` are not learned: the begin and the prompt."""

    tokens: list[int]
    given: int
    language: str = ""
    """Of the prompt, for models whose prompts depend on the image: these are no part of `tokens`."""


class TrainableCaptioner(Protocol):
    """A loaded captioner whose weights can be changed."""

    @property
    def weights(self) -> Any:
        """The PyTorch module, in 32 bits on its device."""

    @property
    def positions(self) -> int | None:
        """The longest row that fits, in tokens; None: any."""

    def describe(self) -> dict[str, str]: ...

    def prepare(self, image: Image.Image | None) -> Any: ...

    def row(self, caption: str, *, language: str, stabiliser: str) -> TrainingRow: ...

    def loss(self, prepared: Sequence[Any], rows: Sequence[TrainingRow]) -> Any:
        """Compute the cross entropy, summed over the learned tokens of the rows.

        Raises
        ------
        research.inference.backends.captioners.OutOfMemoryError
        """

    def caption(
        self, prepared: Sequence[Any], *, keys: Sequence[str], language: str, decoding: Decoding
    ) -> list[GeneratedCaption | FailedImage]: ...

    def export(self, folder: Path) -> None:
        """Save the model with all that is needed to load it again."""
