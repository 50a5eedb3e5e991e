"""Groups of the 36 languages, to choose many at once."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from core.languages.rules.registry import LANGUAGES


class LanguageGroup(NamedTuple):
    name: Promise | str
    tags: tuple[str, ...]


LOW_RESOURCE = ("bn", "quz", "mi", "sw", "te")

GROUPS = {
    "all": LanguageGroup(gettext_lazy("All 36"), tuple(one.tag for one in LANGUAGES)),
    "core": LanguageGroup(gettext_lazy("The core four"), ("en", "es", "hi", "zh")),
    "low-resource": LanguageGroup(gettext_lazy("The low-resource five"), LOW_RESOURCE),
    "web": LanguageGroup(
        gettext_lazy("The thirty by web content"),
        tuple(one.tag for one in LANGUAGES if one.tag not in ("en", *LOW_RESOURCE)),
    ),
}
"""All, and three groups of Thapliyal et al. (2022): those on which models were compared, the last five and the rest."""
