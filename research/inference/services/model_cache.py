"""Keep the loaded model for the next call, because loading takes minutes. One at a time, to save memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from research.inference.backends import registry
from research.inference.backends.allocator import give_freed_memory_back
from research.inference.backends.captioners import Backend, Captioner, LoadedTranslator, ModelSpec, TranslatorBackend
from research.inference.backends.encoders import EncoderBackend
from research.inference.models import CaptioningModel, Encoder, Translator

_cache: dict[str, Any] = {}


def spec_of(model: CaptioningModel) -> ModelSpec:
    return ModelSpec(model.name, model.source, model.options, model.is_pivot)


def translator_spec_of(translator: Translator) -> ModelSpec:
    return ModelSpec(translator.name, translator.source, translator.options)


def backend_of(
    model: CaptioningModel | None, encoder: Encoder | None = None
) -> Backend | TranslatorBackend | EncoderBackend:
    """Return the backend that computes: the encoder's if there is one, else the translator's or the model's.

    Raises
    ------
    research.inference.backends.captioners.BackendSettingsError
    """
    if encoder is not None:
        return registry.encoder_named(encoder.backend)
    assert model is not None
    if model.translator is not None:
        return registry.translator_named(model.translator.backend)
    return registry.backend_named(model.backend)


def captioner(model: CaptioningModel) -> Captioner:
    """
    Raises
    ------
    research.inference.backends.captioners.BackendSettingsError, research.inference.backends.encoders.ExtraMissingError
    """
    key = ("captions", model.backend, model.source, model.options, model.is_pivot)
    return cached(key, lambda: registry.backend_named(model.backend).load(spec_of(model)))


def translation(translator: Translator) -> LoadedTranslator:
    """
    Raises
    ------
    research.inference.backends.captioners.BackendSettingsError, research.inference.backends.encoders.ExtraMissingError
    """
    key = ("translation", translator.backend, translator.source, translator.options)
    return cached(key, lambda: registry.translator_named(translator.backend).load(translator_spec_of(translator)))


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
