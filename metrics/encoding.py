"""Captions as numbers: words by their ids, image by image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class EncodedCaptions:
    """A candidate and references for each image."""

    candidates: Sequence[str]
    references: Sequence[Sequence[str]]


def encode(candidates: Sequence[str], references: Sequence[Sequence[str]], *, workers: int = 1) -> EncodedCaptions:
    """Read the captions once, to score them by several metrics.

    Raises
    ------
    ValueError
        No image; lengths that differ; an image without a reference, by its index.
    """
    if len(candidates) != len(references):
        raise ValueError(f"{len(candidates)} candidates cannot be scored against references of {len(references)} images.")
    if not len(candidates):
        raise ValueError("There is no image to score.")
    for index, of_image in enumerate(references):
        if isinstance(of_image, str):
            raise ValueError(f"The references of image {index} are one text: give a list of texts.")
        if not len(of_image):
            raise ValueError(f"Image {index} has no reference.")
    return EncodedCaptions(candidates, references)
