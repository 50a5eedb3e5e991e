"""Prepare the choice of kinds of models and translators to register."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from inference.backends import registry

ABOUT = {
    "encoder-decoder": gettext_lazy(
        "A transformers model that takes an image and writes a caption, from a folder or the hub. Includes "
        "pivot-stabilised models."
    ),
    "chat": gettext_lazy(
        "A transformers model that takes a prompt for each language: PaliGemma and image-text chat models."
    ),
    "endpoint": gettext_lazy("A model on a server with an OpenAI-compatible API, on your network or elsewhere."),
    "palette": gettext_lazy(
        "Needs no model and no GPU: it names the colours in an image. Use it to see how everything works."
    ),
}
TRANSLATORS_ABOUT = {
    "seq2seq": gettext_lazy("A transformers translation model, for example M2M-100 or NLLB, from a folder or the hub."),
    "endpoint": gettext_lazy("A language model that translates, on a server with an OpenAI-compatible API."),
}


@dataclass(frozen=True)
class KindCard:
    name: str
    title: str
    about: str
    package: str
    """Name the installed package of a backend; empty for our own."""
    missing: Sequence[str]
    """What this process lacks of what it needs. Workers may have it."""


def model_kinds() -> list[KindCard]:
    return _cards(registry.backends(), ABOUT)


def translator_kinds() -> list[KindCard]:
    return _cards(registry.translators(), TRANSLATORS_ABOUT)


def broken_packages() -> list[str]:
    """Say what is wrong with packages' backends that cannot be used."""
    return [
        _("%(entry)s of the package %(package)s: %(reason)s")
        % {"entry": one.entry, "package": one.package, "reason": one.reason}
        for one in registry.broken()
    ]


def _cards(backends: Mapping[str, Any], descriptions: Mapping[str, object]) -> list[KindCard]:
    """List cards of backends: our own in the order of `descriptions`, those of packages below."""
    order = [
        *(name for name in descriptions if name in backends),
        *(name for name in backends if name not in descriptions),
    ]
    return [
        KindCard(
            name=name,
            title=str(backends[name].title),
            about=str(descriptions.get(name, "")),
            package=registry.package_of(backends[name]),
            missing=registry.missing_modules(backends[name]),
        )
        for name in order
    ]
