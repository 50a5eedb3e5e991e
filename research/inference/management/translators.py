"""What commands have in common that load a translator: its arguments, and the translator while they need it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError

from crosslens_metrics.formats.problems import FileProblemsError
from research.inference.backends import registry
from research.inference.backends.captioners import (
    BackendDownError,
    BackendSettingsError,
    Decoding,
    LoadedTranslator,
    ModelSpec,
)
from research.inference.backends.encoders import ExtraMissingError
from research.inference.services import worker_status


@dataclass(frozen=True)
class LoadedTranslation:
    translation: LoadedTranslator
    spec: ModelSpec
    decoding: Decoding


def add_translator_arguments(parser: ArgumentParser) -> None:
    usual = Decoding()
    parser.add_argument("--backend", default="seq2seq", help="kind of translator; default: seq2seq")
    parser.add_argument("--source", required=True, help="folder, owner/name@COMMIT of the hub, or name of an endpoint")
    parser.add_argument("--options", type=json.loads, default={}, metavar="JSON", help="of docs/models.md")
    parser.add_argument("--beams", type=int, default=usual.beams)
    parser.add_argument("--max-tokens", type=int, default=usual.max_tokens)


@contextmanager
def load_translator(given: Mapping[str, Any], *, to: Sequence[str]) -> Iterator[LoadedTranslation]:
    """Load the translator that the arguments name.

    Raises
    ------
    CommandError
        Also for what a caller's block raises about the translator or a file.
    """
    worker_status.prepare_process(processes=1)
    decoding = Decoding(beams=given["beams"], max_tokens=given["max_tokens"])
    spec = ModelSpec(given["source"], given["source"], given["options"])
    try:
        backend = registry.translator_named(given["backend"])
        backend.check(spec)
        registry.check_decoding(backend, spec, decoding)
        lacking = sorted(set(to) - set(backend.languages(spec)))
        if lacking:
            raise CommandError(f"The translator has no code for {', '.join(lacking)}.")
        translation = backend.load(spec)
        try:
            yield LoadedTranslation(translation, spec, decoding)
        finally:
            translation.close()
    except (BackendDownError, BackendSettingsError, ExtraMissingError, FileProblemsError) as error:
        raise CommandError(str(error)) from error
