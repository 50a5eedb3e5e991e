"""What a figure was computed by and on. Two figures may be compared only where their signatures say the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from crosslens_metrics.messages import gettext, ngettext
from crosslens_metrics.messages import gettext_noop as _

DIGEST_SHOWN = 12
"""Hexadecimal digits: two sets of references share them by chance once in 10^14."""
KEPT_AS_IS = "+:,;/()@=~'"
NOT_THERE = _("not given")
MAX_VALUES = 3
"""Values that a sentence about several signatures lists."""

WORDS = {
    "metric": _("metrics"),
    "v": _("versions of the metric"),
    "text": _("text and tokens"),
    "lang": _("languages"),
    "params": _("METEOR's parameters"),
    "refs": _("references"),
    "translator": _("translators of the references"),
    "translation": _("decoding of the translated references"),
    "df": _("document frequencies"),
    "vectors": _("word vectors"),
    "encoder": _("encoders"),
    "seed": _("seeds"),
    "images": _("images"),
    "sample": _("samples of images"),
    "replication": _("judgements per image"),
    "scale": _("points of the scale"),
    "collection": _("collections"),
    "drawn": _("images drawn at random"),
    "equal": _("what happens to pairs with equal captions"),
    "gold": _("gold pairs per 100 pairs"),
    "repeats": _("repeats per 100 pairs"),
    "pause": _("failures in percent / attention items after which raters are paused"),
    "instructions": _("versions of the instructions"),
    "instructions-in": _("languages of the instructions"),
    "raters": _("raters"),
    "complete": _("complete images"),
    "similar": _("pairs counted as SIMILAR without being shown"),
    "set-aside": _("judgements set aside"),
    "comparisons": _("comparisons"),
    "left-out": _("rules by which turns are left out"),
    "turns": _("turns"),
    "instances": _("instances"),
}
COUNTS = ("complete", "similar", "set-aside")
"""What is added where several figures become one."""
NOT_COMPARED = ("bootstrap", "raters", *COUNTS)
"""What makes a figure more or less certain, but no other figure: by the same rules, on the same sample or another."""
OF_LANGUAGE = ("lang", "refs", "vectors", "images")
"""What scores in two languages cannot have in common."""
ORIGINAL = "original"
"""In `instructions-in`: the language in which the instructions were written, and not a translation."""
OF_SAMPLE = ("sample", *COUNTS)
"""What says which images a figure is from, and not how it was made."""


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

    def without(self, *keys: str) -> Signature:
        """The same without some of the settings."""
        return Signature(self.metric, tuple(setting for setting in self.settings if setting[0] not in keys))

    def with_values(self, key: str, values: Iterable[object]) -> Signature:
        """The same with a setting that has all of some values, if there are any that are not empty."""
        known = sorted({str(value) for value in values} - {""})
        return Signature(self.metric, (*self.settings, (key, "+".join(known)))) if known else self


def differences(*signatures: Signature) -> list[str]:
    """What signatures say differently, in words; figures may be compared only where this is empty."""
    said = [{"metric": one.metric, **dict(one.without(*NOT_COMPARED).settings)} for one in signatures]
    parts = []
    for key in dict.fromkeys(key for one in said for key in one):
        values = list(dict.fromkeys(one.get(key) or gettext(NOT_THERE) for one in said))
        if len(values) > 1:
            parts.append(f"{gettext(WORDS.get(key, key))}: {_several(values)}")
    return parts


def _several(values: Sequence[str]) -> str:
    if len(values) > MAX_VALUES:
        number = len(values)
        return ngettext("%(number)s value", "%(number)s different values", number) % {"number": number}
    return f" {gettext('against')} ".join(values)


def together(method: str, settings: Mapping[str, object], parts: Sequence[Signature]) -> Signature:
    """The signature of a figure from several others: each setting with all values that these have.

    `settings` are its own, such as its number of raters, who may be the same in several.
    """
    merged: dict[str, str] = {}
    keys = (key for part in parts for key, _value in part.without("v", "bootstrap", "raters").settings)
    for key in dict.fromkeys(keys):
        values = sorted({part.get(key) or "none" for part in parts})
        if key in COUNTS:
            merged[key] = str(sum(int(part.get(key) or 0) for part in parts))
        elif key == "sample" and len(values) > 1:
            merged[key] = sample_digest([part.get(key) or "" for part in parts])
        else:
            merged[key] = "+".join(values)
    made_by = sorted({f"{part.metric}/{part.get('v')}" for part in parts})
    return Signature.of(method, {**settings, "comparisons": len(parts), "of": "+".join(made_by), **merged})


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
