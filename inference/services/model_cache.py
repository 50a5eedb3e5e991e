"""Models loaded in this process, kept for the next call: loading takes minutes. One at a time, for memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from inference.backends import registry
from inference.backends.allocator import give_freed_memory_back
from inference.backends.captioners import Backend, Captioner, Spec, Translation, TranslatorBackend
from inference.backends.encoders import EncoderBackend
from inference.models import CaptioningModel, Encoder, Translator

_kept: dict[str, Any] = {}


def spec_of(model: CaptioningModel) -> Spec:
    return Spec(model.name, model.source, model.options, model.is_pivot)


def translator_spec_of(translator: Translator) -> Spec:
    return Spec(translator.name, translator.source, translator.options)


def backend_of(
    model: CaptioningModel | None, encoder: Encoder | None = None
) -> Backend | TranslatorBackend | EncoderBackend:
    """What computes: the encoder's backend where there is one, else that of the model, or of its translator.

    Raises
    ------
    inference.backends.captioners.BackendSettingsError
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
    inference.backends.captioners.BackendSettingsError, inference.backends.encoders.ExtraMissingError
    """
    key = ("captions", model.backend, model.source, model.options, model.is_pivot)
    return kept(key, lambda: registry.backend_named(model.backend).load(spec_of(model)))


def translation(translator: Translator) -> Translation:
    """
    Raises
    ------
    inference.backends.captioners.BackendSettingsError, inference.backends.encoders.ExtraMissingError
    """
    key = ("translation", translator.backend, translator.source, translator.options)
    return kept(key, lambda: registry.translator_named(translator.backend).load(translator_spec_of(translator)))


def kept(about: Any, load: Callable[[], Any]) -> Any:
    """What `load` gave the last time with the same `about`; what was loaded for another is closed before."""
    key = json.dumps(about, sort_keys=True)
    if key not in _kept:
        drop()
        _kept[key] = load()
    return _kept[key]


def drop() -> None:
    """Give back the memory of what is loaded."""
    while _kept:
        _key, loaded = _kept.popitem()
        close: Callable[[], None] | None = getattr(loaded, "close", None)
        if close is not None:
            close()
        del loaded, close
        give_freed_memory_back()
