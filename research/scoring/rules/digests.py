"""Detect changed captions by sums over images, in any order, so that a change needs no reading of the others.

Images count by the hash of their image, so the same captions have the same digest in every database.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

MODULUS = 1 << 256


def image_digest(image: str, texts: Iterable[str]) -> int:
    """Digest the captions of one image, in order; `image` is its SHA-256. 0 if there is no caption."""
    texts = list(texts)
    if not texts:
        return 0
    digest = sha256(image.encode())
    for text in texts:
        content = text.encode()
        # The length in front: "ab", "c" is not "a", "bc".
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return int.from_bytes(digest.digest(), "little")


def as_digest(total: int) -> str:
    """Encode the sum of image digests for storage; empty if there is no caption."""
    total %= MODULUS
    return f"{total:064x}" if total else ""


def as_total(digest: str) -> int:
    """Decode what `as_digest` encoded."""
    return int(digest, 16) if digest else 0
