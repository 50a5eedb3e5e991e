"""The grammar of image filters: which images a figure is about, as commands, pages and the API take it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from django.utils.text import slugify
from django.utils.translation import gettext as _

from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from geography.codes import canonical
from geography.places import CONTINENTS
from research.selection.rules.tables import PLACE_LEVELS, PlaceLevel

SEPARATOR = ","
MAX_FILTER_CHARACTERS = 400
MAX_TERMS = 8
_AS_HYPHENS = str.maketrans(":,.", "---")
CODE = re.compile(r"[A-Z0-9][A-Z0-9_.~-]{0,39}")
"""Codes of places that a filter can name. Natural Earth ends those of islands far out with a tilde."""

_SLUG = re.compile(r"[-a-zA-Z0-9_]{1,80}")

EXAMPLES = (
    "region, country, continent, chosen, chosen:TAG, level:LEVEL, in:CODE (such as in:IN or in:IN-WB), on:CONTINENT "
    "(such as on:AS), subset:NAME"
)
"""All terms, for messages and help texts."""


class FilterKind(StrEnum):
    """What a term asks of an image."""

    REGION = "region"
    COUNTRY = "country"
    CONTINENT = "continent"
    CHOSEN = "chosen"
    LEVEL = "level"
    IN = "in"
    ON = "on"
    SUBSET = "subset"


AREAS = tuple(FilterKind(level) for level in PLACE_LEVELS)
"""The kinds that ask whether an image lies in an area of the language."""


class ImageFilterError(ValueError):
    """A filter that cannot be understood or applied; the message names the term and what is allowed."""


@dataclass(frozen=True)
class FilterTerm:
    """A condition; `value` is "" where the kind takes none."""

    kind: FilterKind
    value: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}" if self.value else str(self.kind)


@dataclass(frozen=True)
class ImageFilter:
    """Conditions that all hold; without any, all images."""

    terms: tuple[FilterTerm, ...] = ()

    @property
    def is_all(self) -> bool:
        return not self.terms

    @property
    def depends_on_language(self) -> bool:
        """Whether it selects other images for one language than for another."""
        return any(term.kind in AREAS or term == FilterTerm(FilterKind.CHOSEN) for term in self.terms)

    def __str__(self) -> str:
        return SEPARATOR.join(map(str, self.terms))

    def in_file_names(self) -> str:
        """Return a hyphen and the filter for the name of a file; nothing for all images."""
        return "" if self.is_all else f"-{slugify(str(self).translate(_AS_HYPHENS))}"


ALL_IMAGES = ImageFilter()


def parse(text: str) -> ImageFilter:
    """Read a filter, such as `region`, `in:IN-WB,level:region` or `subset:xm600`; an empty text is all images.

    Raises ImageFilterError if a term is unknown or has a wrong value.
    """
    if len(text) > MAX_FILTER_CHARACTERS:
        raise ImageFilterError(
            _("An image filter has at most %(limit)d characters.") % {"limit": MAX_FILTER_CHARACTERS}
        )
    terms = dict.fromkeys(_term(part.strip()) for part in text.split(SEPARATOR)) if text.strip() else {}
    if len(terms) > MAX_TERMS:
        raise ImageFilterError(_("An image filter has at most %(limit)d terms.") % {"limit": MAX_TERMS})
    return ImageFilter(tuple(terms))


def _term(text: str) -> FilterTerm:
    name, colon, value = (part.strip() for part in text.partition(":"))
    try:
        kind = FilterKind(name.lower())
    except ValueError:
        raise ImageFilterError(
            _("“%(term)s” is not a term of an image filter. Use one of: %(known)s.") % {"term": text, "known": EXAMPLES}
        ) from None
    if kind in AREAS or (kind is FilterKind.CHOSEN and not colon):
        if colon:
            raise ImageFilterError(_("“%(term)s”: write “%(kind)s” without a value.") % {"term": text, "kind": kind})
        return FilterTerm(kind)
    return FilterTerm(kind, _value(kind, value, text))


def _value(kind: FilterKind, value: str, text: str) -> str:
    known = ""
    if kind is FilterKind.LEVEL:
        known, value = ", ".join(PlaceLevel), value.lower()
        is_right = value in list(PlaceLevel)
    elif kind is FilterKind.ON:
        known, value = ", ".join(CONTINENTS), value.upper()
        is_right = value in CONTINENTS
    elif kind is FilterKind.IN:
        known, value = _("a country or region code such as IN or IN-WB"), value.upper()
        is_right, value = bool(CODE.fullmatch(value)), canonical(value)
    elif kind is FilterKind.SUBSET:
        known, is_right = _("the name of a subset in its address, such as xm600"), bool(_SLUG.fullmatch(value))
    else:
        known = _("a language tag such as bn")
        try:
            value, is_right = canonical_tag(value), True
        except MalformedTagError:
            is_right = False
    if not is_right:
        said = _("“%(term)s”: after “%(kind)s:” write %(known)s.")
        raise ImageFilterError(said % {"term": text, "kind": kind, "known": known})
    return value
