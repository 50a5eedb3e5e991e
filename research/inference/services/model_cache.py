"""What a worker process has one of: the model that is loaded, and the thread in which it computes.

The loaded model is kept for the next call, because loading takes minutes; one at a time, to save memory.

The thread, next to the one with the database, lives as long as the process: the C library gives memory to a new thread
page by page, so that its first batches of a model on the CPU take half as long again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, Self, TypeVar

from django.utils.translation import get_language, override

from core.languages.rules.registry import ENGLISH
from research.inference.backends import registry
from research.inference.backends.allocator import give_freed_memory_back, keep_freed_memory
from research.inference.backends.captioners import Backend, Captioner, LoadedTranslator, TranslatorBackend
from research.inference.models import CaptioningModel, Translator

_cache: dict[str, Any] = {}
T = TypeVar("T")


def backend_of(registered: CaptioningModel | Translator) -> Backend | TranslatorBackend:
    """Raises research.inference.backends.captioners.BackendSettingsError: it is not installed here."""
    if isinstance(registered, Translator):
        return registry.translator_named(registered.backend)
    return registry.backend_named(registered.backend)


def languages_of(model: CaptioningModel) -> dict[str, str]:
    """Map the languages in which the model writes to its own codes; one that translates has English captions, too."""
    codes = dict(backend_of(model.runner).languages(model.runner.spec))
    return codes if model.translator is None else {ENGLISH: ENGLISH, **codes}


def captioner(model: CaptioningModel) -> Captioner:
    """Raises research.inference.backends.captioners.BackendSettingsError or
    research.inference.backends.encoders.ExtraMissingError.
    """
    key = ("captions", model.backend, model.source, model.options, model.is_pivot)
    return cached(key, lambda: backend_of(model).load(model.spec))


def translation(translator: Translator) -> LoadedTranslator:
    """Raises research.inference.backends.captioners.BackendSettingsError or
    research.inference.backends.encoders.ExtraMissingError.
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


class DeviceThread:
    """A context manager that submits calls to the thread of models; at its end all of them are done or cancelled."""

    def __init__(self) -> None:
        # Messages made in the thread are in the language of the caller.
        self._language = get_language()
        self._submitted: list[Future[Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        for future in self._submitted:
            future.cancel()
        wait(self._submitted)

    def submit(self, function: Callable[..., T], *args: Any, **options: Any) -> Future[T]:
        """Call `function` in the thread, after all that was submitted before."""

        def call() -> T:
            with override(self._language):
                return function(*args, **options)

        self._submitted = [future for future in self._submitted if not future.done()]
        future = _thread().submit(call)
        self._submitted.append(future)
        return future


@cache
def _thread() -> ThreadPoolExecutor:
    # Before the thread starts: one that is older than the setting has memory of its own.
    keep_freed_memory()
    return ThreadPoolExecutor(1, thread_name_prefix="device")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_thread.cache_clear)
