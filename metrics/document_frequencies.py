"""In how many images' references each n-gram stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DocumentFrequencies:
    """Document frequencies of a corpus of references, for CIDEr and CIDEr-D.

    Attributes
    ----------
    documents : int
        Images of the corpus.
    signature : str
        The same for the same frequencies, whatever file they come from.
    """

    documents: int
    signature: str

    @classmethod
    def from_references(cls, references: Sequence[Sequence[str]], *, workers: int = 1) -> DocumentFrequencies:
        raise NotImplementedError

    @classmethod
    def load(cls, path: Path) -> DocumentFrequencies:
        raise NotImplementedError

    def save(self, path: Path) -> None:
        raise NotImplementedError
