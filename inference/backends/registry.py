"""The backends there are, by name: our own, and those that installed packages bring under an entry point."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from inference.backends.captioners import Backend, BackendRefused, TranslatorBackend

BACKENDS_GROUP = "crosslens.backends"
TRANSLATORS_GROUP = "crosslens.translators"

OWN_BACKENDS = (
    "inference.backends.encoder_decoder:EncoderDecoderBackend",
    "inference.backends.chat:ChatBackend",
    "inference.backends.endpoint:EndpointBackend",
    "inference.backends.palette:PaletteBackend",
)
OWN_TRANSLATORS = (
    "inference.backends.seq2seq:Seq2SeqBackend",
    "inference.backends.endpoint:EndpointTranslatorBackend",
)


def backends() -> Mapping[str, Backend]:
    return _found(OWN_BACKENDS, BACKENDS_GROUP)


def translators() -> Mapping[str, TranslatorBackend]:
    return _found(OWN_TRANSLATORS, TRANSLATORS_GROUP)


def backend_named(name: str) -> Backend:
    """
    Raises
    ------
    BackendRefused
        Where no such backend is installed here.
    """
    return _one(backends(), name)


def translator_named(name: str) -> TranslatorBackend:
    """
    Raises
    ------
    BackendRefused
    """
    return _one(translators(), name)


def _one(found: Mapping[str, Any], name: str) -> Any:
    if name not in found:
        raise BackendRefused(
            f"No backend {name!r} is installed here. There are: {', '.join(found)}; others come as packages "
            "(docs/backends.md)."
        )
    return found[name]


@cache
def _found(own: tuple[str, ...], group: str) -> dict[str, Any]:
    made = [_imported(path)() for path in own]
    # Our own names win: a package must not silently take the place of what runs were made with.
    others = [entry.load()() for entry in entry_points(group=group)]
    return {one.name: one for one in [*others, *made]}


def _imported(path: str) -> Any:
    module, _colon, name = path.partition(":")
    return getattr(import_module(module), name)
