"""Groups of the 36 languages, to choose many at once."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from languages.rules.registry import LANGUAGES


class Group(NamedTuple):
    name: Promise
    tags: tuple[str, ...]


GROUPS = {
    "all": Group(gettext_lazy("All 36"), tuple(one.tag for one in LANGUAGES)),
    "core": Group(gettext_lazy("The core four"), ("en", "es", "hi", "zh")),
    "low-resource": Group(gettext_lazy("The low-resource five"), ("bn", "quz", "mi", "sw", "te")),
}
"""All, and two groups of Thapliyal et al. (2022): those on which models were compared, and the last five."""
