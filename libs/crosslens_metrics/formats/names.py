"""What the name of an image, a rater or a model is, and when two names of an image are the same.

(ours) Names are kept and compared in Unicode's NFC: a file of macOS and a table made elsewhere spell *é* in different
bytes. Hidden characters are no part of a name: what looks the same is the same. Of an image's name, the folders and the
extension may be left out, and a number stands for the names that COCO gives to its files, as long as only one image is
meant.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from types import MappingProxyType
from typing import Generic, TypeVar

from crosslens_metrics.formats.records import printable
from crosslens_metrics.hidden_characters import visible_text

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp", ".avif", ".heic")
SAME_KIND = {".jpeg": ".jpg", ".tiff": ".tif"}
COCO_STEMS = ("COCO_val2014_{:012d}", "COCO_train2014_{:012d}", "COCO_test2014_{:012d}", "COCO_test2015_{:012d}")
COCO_STEM = re.compile(r"(?:COCO_(?:train|val|test)20[0-9]{2}_)?([0-9]{1,18})")
DECIMAL = re.compile(r"([0-9]{1,18})\.0+")
"""What a table of decimals makes of a whole number."""
MAX_FOLDERS = 10
"""With more folders than this, an image is only known by its whole name, or with so many of them or fewer."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

SAME, BUT_FOR_SUFFIX, IN_FOLDERS, AS_NUMBER = range(4)
"""How two names of one image differ, the nearest first."""


def normalised_name(name: str) -> str:
    """The spelling in which a name is kept and compared."""
    return unicodedata.normalize("NFC", visible_text(name)).strip()


def readable_name(name: str) -> str:
    """Return the name of a rater, a model or a set without superfluous blanks and hidden characters."""
    return normalised_name(" ".join(visible_text(name).split()))


def image_name(given: object) -> str | None:
    """An image's name from a text or a number, with slashes between folders; None if it is neither or empty."""
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, str | int):
        return None
    parts = normalised_name(str(given)).replace("\\", "/").split("/")
    name = "/".join(part for part in parts if part not in ("", "."))
    whole = DECIMAL.fullmatch(name)
    return (whole[1] if whole else name) or None


def without_suffix(name: str) -> str:
    """The name without the extension of an image file."""
    return name[: -len(suffix)].rstrip() if (suffix := _suffix(name)) and len(name) > len(suffix) else name


def spellings(name: str) -> list[str]:
    """Every text by which a database may know the image: an index finds these, and `closest` chooses among them."""
    parts = (image_name(name) or name).split("/")
    whole, deepest = "/".join(parts), max(0, len(parts) - 1 - MAX_FOLDERS)
    tails = [whole, *("/".join(parts[start:]) for start in range(deepest, len(parts)))]
    found = [name, *tails, *map(without_suffix, tails)]
    last, kind = without_suffix(parts[-1]), _kind(parts[-1])
    suffixes = [suffix for suffix in SUFFIXES if not kind or SAME_KIND.get(suffix, suffix) == kind]
    found += [last + spelt for suffix in suffixes for spelt in (suffix, suffix.upper())]
    if (number := _number(name)) is not None:
        stems = [f"{number:0{digits}d}" for digits in range(1, 13)] + [stem.format(number) for stem in COCO_STEMS]
        found += stems + [stem + SUFFIXES[0] for stem in stems]
    return list(dict.fromkeys(found + [unicodedata.normalize("NFD", one) for one in found if not one.isascii()]))


def closest(name: str, known: Iterable[tuple[str, K]]) -> list[K]:
    """Those of the `known` whose name is nearest to `name`: none is unknown, and several are ambiguous.

    Nearest is an equal name, then one that differs in the extension, then in folders before it, then by COCO's forms.
    """
    wanted = image_name(name) or ""
    names: dict[K, list[str]] = defaultdict(list)
    for other, key in known:
        names[key].append(image_name(other) or "")
    at: dict[tuple[int, ...], list[K]] = defaultdict(list)
    for key, others in names.items():
        if distances := [one for other in others if (one := _distance(wanted, other, others)) is not None]:
            at[min(distances)].append(key)
    if not at:
        return []
    nearest = min(at)
    if nearest[0] == IN_FOLDERS and "/" in wanted and nearest[1] == -1 and len(names) > 1:
        # Folders tell these images apart, and none of them is in this one.
        return [] if any("/" in other for others in names.values() for other in others) else at[nearest]
    return at[nearest]


class ImageNames(Generic[V]):
    """What is known by names of images, to find by any other name of the same image."""

    def __init__(self, named: Mapping[str, V]) -> None:
        self.named = named

    @cached_property
    def _by_stem(self) -> dict[str | int, list[tuple[str, str]]]:
        """Made only if some name is not spelt as it is known."""
        found: dict[str | int, list[tuple[str, str]]] = defaultdict(list)
        for name in self.named:
            found[_stem(name)].append((name, name))
        return found

    def find(self, name: str) -> list[str]:
        """The names that `name` may mean: one; or none; or several, which are ambiguous."""
        return [name] if name in self.named else closest(name, self._by_stem.get(_stem(name), ()))

    def first(self, *names: str) -> V | None:
        """What the first of the `names` means that is known and not ambiguous."""
        found = (self.find(name) for name in names)
        return next((self.named[one[0]] for one in found if len(one) == 1), None)


def alike_names(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names without folders that would be one image's, if the other were not there: `b1` and `b1.jpg`."""
    groups: dict[str | int, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        if "/" not in name:
            groups[_stem(name)].append(name)
    return [
        (one, other)
        for group in groups.values()
        for one, other in combinations(group, 2)
        if _distance(one, other, [other]) is not None
    ]


def shortest_names(paths: Iterable[str]) -> dict[str, str]:
    """For each path of a set the shortest name that no other has: without folders and extension where it may be."""
    groups: dict[str, list[str]] = defaultdict(list)
    for path in dict.fromkeys(paths):
        groups[without_suffix(path).rpartition("/")[2]].append(path)
    shortest = {}
    for group in groups.values():
        shared = Counter(form for path in group for form in _forms(path))
        whole = Counter(map(without_suffix, group))
        for path in group:
            # All names of a path that ends another one are names of that one, too.
            else_whole = without_suffix(path) if whole[without_suffix(path)] == 1 else path
            shortest[path] = next((form for form in _forms(path) if shared[form] == 1), else_whole)
    return shortest


def _forms(path: str) -> list[str]:
    parts = path.split("/")
    tails = ["/".join(parts[start:]) for start in reversed(range(len(parts)))]
    return list(dict.fromkeys([*map(without_suffix, tails), *tails]))


def _suffix(name: str) -> str:
    _stem, point, ending = name.rpartition(".")
    suffix = point + ending.lower()
    return suffix if suffix in SUFFIXES else ""


def _kind(name: str) -> str:
    suffix = _suffix(name)
    return SAME_KIND.get(suffix, suffix)


def _number(name: str) -> int | None:
    """The number that the name is, or that COCO's form of it holds."""
    found = COCO_STEM.fullmatch(without_suffix((image_name(name) or "").rpartition("/")[2]))
    return int(found[1]) if found else None


def _stem(name: str) -> str | int:
    """What all names of one image have in common."""
    number = _number(name)
    return number if number is not None else without_suffix((image_name(name) or "").rpartition("/")[2])


def _distance(one: str, other: str, others: list[str]) -> tuple[int, ...] | None:
    """How far two names are apart; None where they are of different images. `others`: all names of the other image."""
    if one == other:
        return (SAME,)
    if "/" in one and "/" not in other and any("/" in name for name in others):
        # The image has a name that says in which folder it is.
        return None
    if _kind(one) and _kind(other) and _kind(one) != _kind(other):
        return None
    stem, other_stem = without_suffix(one), without_suffix(other)
    if stem == other_stem:
        return (BUT_FOR_SUFFIX, _suffix(one) != _suffix(other))
    if _is_tail(stem, other_stem) or _is_tail(other_stem, stem):
        shared = min(stem.count("/"), other_stem.count("/")) + 1
        return (IN_FOLDERS, -shared, _kind(one) != _kind(other), _suffix(one) != _suffix(other))
    folders, other_folders = one.rpartition("/")[0], other.rpartition("/")[0]
    are_inside = (
        not folders or not other_folders or _is_tail(folders, other_folders) or _is_tail(other_folders, folders)
    )
    number = _number(one)
    return (AS_NUMBER,) if are_inside and number is not None and number == _number(other) else None


def _is_tail(short: str, long: str) -> bool:
    return f"/{long}".endswith(f"/{short}")


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


def paired(
    candidates: Mapping[str, str],
    references: Mapping[str, list[str]] | None,
    *,
    other_names: Mapping[str, str] = MappingProxyType({}),
) -> ScoredPairs:
    """Candidates beside their references, if there are any.

    - `candidates`: one caption by image.
    - `references`: captions by image.
    - `other_names`: images of the references by other names that they have.
    - returned: image by image.

    Raises ImagesDifferError if some image lacks one or the other.
    """
    if references is None:
        images = sorted(candidates, key=_as_number)
        return ScoredPairs(images, [candidates[image] for image in images], None)
    candidate_of, said = _matched(candidates, references, other_names)
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


def _matched(
    candidates: Mapping[str, str], references: Mapping[str, list[str]], other_names: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The name of the candidate for each name of references, and what is ambiguous."""
    names, others = ImageNames(references), ImageNames(other_names)
    found = {
        image: names.find(image) or list(dict.fromkeys(other_names[name] for name in others.find(image)))
        for image in candidates
    }
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
