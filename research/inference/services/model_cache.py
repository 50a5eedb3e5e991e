"""Keep the loaded model for the next call, because loading takes minutes. One at a time, to save memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from research.inference.backends import registry
from research.inference.backends.allocator import give_freed_memory_back
from research.inference.backends.captioners import Backend, Captioner, LoadedTranslator, TranslatorBackend
from research.inference.backends.language_codes import ENGLISH
from research.inference.models import CaptioningModel, Translator

_cache: dict[str, Any] = {}


def backend_of(registered: CaptioningModel | Translator) -> Backend | TranslatorBackend:
    """
    Raises
    ------
    research.inference.backends.captioners.BackendSettingsError
        It is not installed here.
    """
    if isinstance(registered, Translator):
        return registry.translator_named(registered.backend)
    return registry.backend_named(registered.backend)


def languages_of(model: CaptioningModel) -> dict[str, str]:
    """Map the languages in which the model writes to its own codes; one that translates has English captions, too."""
    codes = dict(backend_of(model.runner).languages(model.runner.spec))
    return codes if model.translator is None else {ENGLISH: ENGLISH, **codes}


def captioner(model: CaptioningModel) -> Captioner:
    """
    Raises
    ------
    research.inference.backends.captioners.BackendSettingsError, research.inference.backends.encoders.ExtraMissingError
    """
    key = ("captions", model.backend, model.source, model.options, model.is_pivot)
    return cached(key, lambda: backend_of(model).load(model.spec))


def translation(translator: Translator) -> LoadedTranslator:
    """
    Raises
    ------
    research.inference.backends.captioners.BackendSettingsError, research.inference.backends.encoders.ExtraMissingError
    """
    key = ("translation", translator.backend, translator.source, translator.options)
    return cached(key, lambda: backend_of(translator).load(translator.spec))


def cached(description: Any, load: Callable[[], Any]) -> Any:
    """Return what `load` returned for the same `description`; if it has to load, close the cached model first."""
    key = json.dumps(description, sort_keys=True)
    if key not in _cache:
        clear()
        _cache[key] = load()
    return _cache[key]


def clear() -> None:
    """Close the cached model and free its memory."""
    while _cache:
        _key, loaded = _cache.popitem()
        close: Callable[[], None] | None = getattr(loaded, "close", None)
        if close is not None:
            close()
        del loaded, close
        give_freed_memory_back()
