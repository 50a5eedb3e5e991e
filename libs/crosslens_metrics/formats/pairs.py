"""Candidates beside their references, and images by name in messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosslens_metrics.formats.names import ImageNames
from crosslens_metrics.formats.records import printable

MAX_NAMES_SHOWN = 10
MAX_NAME_CHARACTERS_SHOWN = 80


class ImagesDifferError(ValueError):
    """Candidates and references are of different images; names them."""


@dataclass(frozen=True)
class ScoredPairs:
    """What is scored, image by image; images that are numbers in their order as numbers, the others by name.

    `references` is None where there are none, for metrics that do without.
    """

    images: list[str]
    candidates: list[str]
    references: list[list[str]] | None


def paired(candidates: Mapping[str, str], references: Mapping[str, list[str]] | None) -> ScoredPairs:
    """Candidates beside their references, if there are any.

    Parameters
    ----------
    candidates : mapping of str to str
        One caption by image.
    references : mapping of str to list of str, or None
        Captions by image.

    Returns
    -------
    Pairs
        Image by image.

    Raises
    ------
    ImagesDifferError
        If some image lacks one or the other.
    """
    if references is None:
        images = sorted(candidates, key=_as_number)
        return ScoredPairs(images, [candidates[image] for image in images], None)
    candidate_of, said = _matched(candidates, references)
    matched = set(candidate_of.values())
    missing = [image for image in references if image not in candidate_of]
    extra = [image for image in candidates if image not in matched]
    if missing:
        said.append(f"{count_of(missing)} with references but no candidate: {names_of(missing)}.")
    if extra:
        said.append(f"{count_of(extra)} with a candidate but no reference: {names_of(extra)}.")
    if missing or extra:
        said.append("Give candidates and references of the same images, under the same names.")
    if said:
        raise ImagesDifferError("\n".join(said))
    images = sorted(references, key=_as_number)
    return ScoredPairs(
        images, [candidates[candidate_of[image]] for image in images], [references[image] for image in images]
    )


def _matched(candidates: Mapping[str, str], references: Mapping[str, list[str]]) -> tuple[dict[str, str], list[str]]:
    """The name of the candidate for each name of references, and what is ambiguous."""
    names = ImageNames(references)
    found = {image: names.find(image) for image in candidates}
    candidate_of: dict[str, str] = {}
    problems = []
    for image, several in found.items():
        if len(several) > 1:
            problems.append(f"Candidate {shortened_name(image)} may belong to several images: {names_of(several)}.")
        for one in several[:1]:
            if one in candidate_of:
                both = f"{shortened_name(candidate_of[one])} and {shortened_name(image)}"
                problems.append(f"{both} are both candidates for {shortened_name(one)}.")
            candidate_of.setdefault(one, image)
    return candidate_of, problems


def count_of(images: Sequence[str]) -> str:
    return f"{len(images):,} image{'' if len(images) == 1 else 's'}"


def names_of(images: Sequence[str]) -> str:
    first = ", ".join(shortened_name(image) for image in sorted(images, key=_as_number)[:MAX_NAMES_SHOWN])
    return f"{first} and {len(images) - MAX_NAMES_SHOWN:,} more" if len(images) > MAX_NAMES_SHOWN else first


def shortened_name(image: str) -> str:
    text = printable(image)
    return text if len(text) <= MAX_NAME_CHARACTERS_SHOWN else f"{text[:MAX_NAME_CHARACTERS_SHOWN]}…"


def _as_number(image: str) -> tuple[int, int, str]:
    is_number = image.isascii() and image.isdigit() and len(image) < 20
    return (0, int(image), image) if is_number else (1, 0, image)
