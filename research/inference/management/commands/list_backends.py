"""`manage.py list_backends`: what can caption and translate here, and what is missing for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from research.inference.backends import registry
from research.inference.backends.captioners import Backend, BackendSettingsError, ModelSpec, TranslatorBackend
from research.inference.backends.encoders import HOW
from research.inference.rules.endpoints import NO_KEY, key_variable

NOTHING = ModelSpec("", "", {})


class Command(BaseCommand):
    help = "List the backends for captioning and translation, their number of languages, and what they are missing."

    def handle(self, **options: Any) -> None:
        self._list("Captioning", registry.backends())
        self._list("Translating from English", registry.translators())
        self._list_endpoints()
        for one in registry.broken_backends():
            self.stdout.write(f"Left out: {one.entry} ({one.group}) of the package {one.package}: {one.reason}")

    def _list(self, heading: str, backends: Mapping[str, Backend] | Mapping[str, TranslatorBackend]) -> None:
        self.stdout.write(f"{heading}:")
        for name, backend in backends.items():
            package = registry.package_of(backend)
            notes = [f"{_languages(backend)}, queue {backend.queue}", f"from the package {package}" if package else ""]
            if missing := registry.missing_modules(backend):
                # Ours say what to install; of others, nobody here knows.
                how = "" if package else f": {HOW}"
                notes.append(f"needs {', '.join(missing)}, not installed{how}")
            self.stdout.write(f"  {name}: {backend.title}; {'; '.join(filter(None, notes))}")

    def _list_endpoints(self) -> None:
        if not settings.CAPTION_ENDPOINTS:
            self.stdout.write("Endpoints: none (CAPTION_ENDPOINTS, docs/settings.md)")
        for name in settings.CAPTION_ENDPOINTS:
            key = settings.CAPTION_ENDPOINT_KEYS.get(name)
            state = "is set" if key else f"is missing: set {key_variable(name)}"
            self.stdout.write(f"Endpoint {name}: {'needs no key' if key == NO_KEY else f'its key {state}'}")


def _languages(backend: Backend | TranslatorBackend) -> str:
    try:
        count = len(backend.languages(NOTHING))
    except BackendSettingsError:
        return "the languages of its models"
    return f"{count} language{'' if count == 1 else 's'} by default"
