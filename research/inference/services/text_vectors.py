"""Compute vectors of texts other than model captions, for example references, and cache them on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from research.inference.backends.encoders import EncoderSettingsError, TextEncoder
from research.inference.backends.memory import in_halves
from research.inference.models import Encoder
from research.inference.selectors.embeddings import cached
from research.inference.services.encoders import load


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

    Raises
    ------
    EncoderSettingsError
        Also where it is of another language.
    research.inference.backends.encoders.ExtraMissingError
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

    rows = np.load(cached(f"{_digest(signature, language, texts)}-texts.npy", make), mmap_mode="r")
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
