"""What a score was computed by and on. Two scores may be compared only where their signatures say the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

DIGEST_SHOWN = 12
"""Hexadecimal digits: two sets of references share them by chance once in 10^14."""
KEPT_AS_IS = "+:,;/()@=~'"
NOT_THERE = "not given"

WORDS = {
    "metric": "metrics",
    "v": "versions of the metric",
    "text": "text and tokens",
    "lang": "languages",
    "params": "METEOR's parameters",
    "refs": "references",
    "translator": "translators of the references",
    "translation": "decoding of the translated references",
    "df": "document frequencies",
    "vectors": "word vectors",
    "encoder": "encoders",
    "seed": "seeds",
    "images": "images",
    "sample": "images",
}


class MalformedSignatureError(ValueError):
    """A text is not a signature."""


@dataclass(frozen=True)
class Signature:
    """The name of a figure, such as `cider-d`, and its settings in the order in which they are written.

    `str()` gives `cider-d|v:1|text:whitespace-1|n:4|sigma:6|df:references|refs:3f2a…`, and `parse` reads it.
    """

    metric: str
    settings: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, metric: str, settings: Mapping[str, object]) -> Signature:
        """A signature of settings as they come; those that are None are left out."""
        return cls(metric, tuple((key, str(value)) for key, value in settings.items() if value is not None))

    def __str__(self) -> str:
        return "|".join([_written(self.metric), *(f"{key}:{_written(value)}" for key, value in self.settings)])

    @classmethod
    def parse(cls, text: str) -> Signature:
        """The signature that `str()` wrote.

        Raises
        ------
        MalformedSignatureError
        """
        metric, *parts = text.strip().split("|")
        settings = [tuple(part.split(":", 1)) for part in parts]
        keys = [setting[0] for setting in settings]
        if not metric or not all(len(setting) == 2 and setting[0] for setting in settings):
            raise MalformedSignatureError(
                f"{text[:80]!r} is no signature; one looks like cider-d|v:1|text:whitespace-1|refs:…."
            )
        if len(set(keys)) < len(keys):
            raise MalformedSignatureError(f"{text[:80]!r} is no signature: it says something twice.")
        return cls(unquote(metric), tuple((key, unquote(value)) for key, value in settings))

    def get(self, key: str) -> str | None:
        """The value of a setting, or None."""
        return dict(self.settings).get(key)


def differences(one: Signature, other: Signature) -> list[str]:
    """What two signatures say differently, in words; scores may be compared only where this is empty."""
    a = {"metric": one.metric, **dict(one.settings)}
    b = {"metric": other.metric, **dict(other.settings)}
    return [
        f"{WORDS.get(key, key)}: {a.get(key, NOT_THERE)} against {b.get(key, NOT_THERE)}"
        for key in dict.fromkeys([*a, *b])
        if a.get(key) != b.get(key)
    ]


def warning(one: Signature, other: Signature) -> str | None:
    """A sentence against comparing two scores, or None where they may be compared."""
    different = differences(one, other)
    return f"These scores should not be compared: they differ in {'; '.join(different)}." if different else None


def references_digest(references: Sequence[Sequence[str]]) -> str:
    """A name for a set of references, as signatures have it: the first 12 hexadecimal digits of a SHA-256.

    Over the captions as they were given, before any tokenisation. The order of the images does not matter, nor that of
    the captions of an image, as they do not to a score.
    """
    of_images = [_digest(sorted(_digest([text.encode("utf-8", "replace")]) for text in texts)) for texts in references]
    return _digest(sorted(of_images)).hex()[:DIGEST_SHOWN]


def sample_digest(images: Sequence[str]) -> str:
    """A name for a set of images by their names, in any order: as long as that of references."""
    return references_digest([[image] for image in images])


def _digest(parts: Sequence[bytes]) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def _written(text: str) -> str:
    # The marks of a signature itself are written as in addresses.
    return quote(text, safe=KEPT_AS_IS)
