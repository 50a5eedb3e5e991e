"""What is asked of tiny models of transformers, by the tests of each backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from research.inference.backends.captioners import Decoding, FailedImage, GeneratedCaption
from tests.tiers import some

COMMIT = "0123456789abcdef0123456789abcdef01234567"
KEYS = tuple("abcde")
SHORT = Decoding(max_tokens=8)
DECODINGS = {
    "greedy": SHORT,
    "beams": Decoding(max_tokens=8, beams=3),
    "drawn": Decoding(max_tokens=8, temperature=1.5, top_p=0.9, seed=4),
}


def with_decodings(names: Sequence[str], how: str) -> list[Any]:
    """Parameters: each model with each of the `DECODINGS`; in `make test`, the first with one of them."""
    pairs = [(name, decoding) for decoding in (how, *sorted(DECODINGS.keys() - {how})) for name in names]
    return some(pairs, short=1, reason="all models are put into batches by the same code, however they choose words")


def noise(sizes: Sequence[tuple[int, int]]) -> list[Image.Image]:
    rng = np.random.default_rng(3)
    return [Image.fromarray(rng.integers(0, 255, (height, width, 3), dtype=np.uint8)) for width, height in sizes]


def texts(made: Sequence[GeneratedCaption | FailedImage]) -> list[str]:
    return [one.text if isinstance(one, GeneratedCaption) else one.reason for one in made]


def captions(
    captioner: Any,
    shown: Sequence[Image.Image],
    decoding: Decoding = SHORT,
    *,
    chosen: Sequence[int] = range(5),
    language: str = "en",
    stabilisers: Sequence[str] | None = None,
) -> list[str]:
    """What it says of the chosen ones of these images, in one batch."""
    made = captioner.caption(
        [captioner.prepare(shown[one]) for one in chosen],
        keys=[KEYS[one] for one in chosen],
        language=language,
        decoding=decoding,
        stabilisers=None if stabilisers is None else [stabilisers[one] for one in chosen],
    )
    return texts(made)
