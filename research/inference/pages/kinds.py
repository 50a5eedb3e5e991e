"""Prepare the choice of kinds of models and translators to register."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from research.inference.backends import registry


@dataclass(frozen=True)
class KindCard:
    name: str
    title: str
    about: str
    """A sentence; packages may have none."""
    package: str
    """Name the installed package of a backend; empty for our own."""
    missing: Sequence[str]
    """What this process lacks of what it needs. Workers may have it."""


def broken_packages() -> list[str]:
    """Say what is wrong with packages' backends that cannot be used."""
    return [
        _("%(entry)s of the package %(package)s: %(reason)s")
        % {"entry": one.entry, "package": one.package, "reason": one.reason}
        for one in registry.broken_backends()
    ]


def kind_cards(backends: Mapping[str, Any]) -> list[KindCard]:
    """List cards of backends: our own first, then those of packages."""
    return [
        KindCard(
            name=name,
            title=str(backend.title),
            about=str(getattr(backend, "about", "")),
            package=registry.package_of(backend),
            missing=registry.missing_modules(backend),
        )
        for name, backend in backends.items()
    ]
