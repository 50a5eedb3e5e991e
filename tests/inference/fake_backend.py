"""A captioning backend that takes no time, or as long as it is told, and fails where it is told to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PIL import Image

from core.languages.rules.registry import LANGUAGES
from research.inference.backends import registry
from research.inference.backends.captioners import (
    BackendSettingsError,
    Decoding,
    FailedImage,
    GeneratedCaption,
    ModelSpec,
    OutOfMemoryError,
)

PATH = "tests.inference.fake_backend:FakeBackend"
TRANSLATOR = "tests.inference.fake_backend:FakeTranslator"


def register() -> None:
    """Where no test can put it back: in a process of its own."""
    registry.OWN_BACKENDS = (*registry.OWN_BACKENDS, PATH)  # type: ignore[assignment]
    registry.OWN_TRANSLATORS = (*registry.OWN_TRANSLATORS, TRANSLATOR)  # type: ignore[assignment]


class FakeCaptioner:
    """`options`: side, batch_size, sleep_s per image, fits (images at once before memory runs out), characters."""

    before: Callable[[Sequence[str], str], object] | None = None
    """Called with the keys and the language of each batch: a test's way in."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec, self.options = spec, spec.options
        self.side: int | None = self.options.get("side")
        self.batch_size = int(self.options.get("batch_size", 4))
        self.batches: list[int] = []
        self.is_closed = False
        self._lock = threading.Lock()

    def describe(self) -> dict[str, str]:
        return {"model": "fake", "device": "none"}

    def prepare(self, image: Image.Image | None) -> Any:
        return image.size if image else None

    def stabilise(self, prepared: Sequence[Any], *, keys: Sequence[str], decoding: Decoding) -> list[str | FailedImage]:
        self._go(keys, "")
        return [f"stabiliser of {key[:8]}" for key in keys]

    def caption(
        self,
        prepared: Sequence[Any],
        *,
        keys: Sequence[str],
        language: str,
        decoding: Decoding,
        stabilisers: Sequence[str] | None = None,
    ) -> list[GeneratedCaption | FailedImage]:
        assert self._lock.acquire(blocking=False), "called by two threads at a time"
        try:
            self._go(keys, language)
        finally:
            self._lock.release()
        held = stabilisers or [f"own {language} stabiliser" if self.spec.is_pivot else "" for _ in keys]
        return [GeneratedCaption(self._words(key, language), said) for key, said in zip(keys, held, strict=True)]

    def _words(self, key: str, language: str) -> str:
        return f"{language} caption of {key[:8]}".ljust(self.options.get("characters", 0), ".")

    def _go(self, keys: Sequence[str], language: str) -> None:
        self.batches.append(len(keys))
        if len(keys) > self.options.get("fits", 1000):
            raise OutOfMemoryError
        if FakeCaptioner.before is not None:
            FakeCaptioner.before(keys, language)
        time.sleep(self.options.get("sleep_s", 0) * len(keys))

    def close(self) -> None:
        self.is_closed = True


class FakeBackend:
    name = "fake"
    title = "Fake"
    queue = "gpu"

    def check(self, spec: ModelSpec) -> None:
        if spec.source == "nowhere":
            raise BackendSettingsError("There is no such model.")

    def languages(self, spec: ModelSpec) -> Mapping[str, str]:
        return {entry.tag: entry.tag for entry in LANGUAGES if entry.tag != "quz"}

    def load(self, spec: ModelSpec) -> FakeCaptioner:
        if spec.source == "broken":
            raise BackendSettingsError("Its weights are gone.")
        return FakeCaptioner(spec)


class FakeTranslation:
    batch_size = 4

    def describe(self) -> dict[str, str]:
        return {"model": "fake"}

    def translate(
        self, texts: Sequence[str], *, keys: Sequence[str], language: str, decoding: Decoding
    ) -> list[GeneratedCaption | FailedImage]:
        return [GeneratedCaption(f"{language} of {text}") for text in texts]

    def translate_into_english(
        self, texts: Sequence[str], *, keys: Sequence[str], language: str, decoding: Decoding
    ) -> list[GeneratedCaption | FailedImage]:
        return [
            FailedImage("Too odd.") if "odd" in text else GeneratedCaption(f"{text} from {language}") for text in texts
        ]

    def close(self) -> None:
        return None


class FakeTranslator:
    name = "fake"
    title = "Fake"
    queue = "default"

    def check(self, spec: ModelSpec) -> None:
        return None

    def languages(self, spec: ModelSpec) -> Mapping[str, str]:
        return {"de": "deu", "fr": "fra"}

    def reads(self, spec: ModelSpec) -> Mapping[str, str]:
        return self.languages(spec)

    def load(self, spec: ModelSpec) -> FakeTranslation:
        return FakeTranslation()
