"""Find backends by name: our own, and those of installed packages, by entry points.

A package that cannot be imported, or has no valid backend, is left out, logged and listed by `broken_backends`; the
others work.
Any exception of a package's backend, on a page or while a worker loads it, becomes a `BackendSettingsError`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from research.inference.backends.captioners import (
    Backend,
    BackendDownError,
    BackendSettingsError,
    Decoding,
    ModelSpec,
    TranslatorBackend,
)
from research.inference.backends.encoders import EncoderBackend, EncoderSettingsError, ExtraMissingError

log = logging.getLogger(__name__)

BACKENDS_GROUP = "crosslens.backends"
TRANSLATORS_GROUP = "crosslens.translators"

OWN_BACKENDS = (
    "research.inference.backends.encoder_decoder:EncoderDecoderBackend",
    "research.inference.backends.feature_decoder:FeatureDecoderBackend",
    "research.inference.backends.chat:ChatBackend",
    "research.inference.backends.endpoint:EndpointBackend",
    "research.inference.backends.palette:PaletteBackend",
)
OWN_TRANSLATORS = (
    "research.inference.backends.seq2seq:Seq2SeqBackend",
    "research.inference.backends.endpoint:EndpointTranslatorBackend",
)
ENCODERS = (
    "research.inference.backends.mobilenet:MobileNetBackend",
    "research.inference.backends.vision:VisionBackend",
    "research.inference.backends.dual_encoder:DualEncoderBackend",
    "research.inference.backends.use_multilingual:SentencesBackend",
    "research.inference.backends.projection:ProjectionBackend",
)
PYTORCH = "torch"
LOADING_MODULES = ("accelerate", "bitsandbytes", "peft")
"""That options of our own backends need, and trainings."""
RESERVED = ("imported", "translated")
"""Names that research.inference.models gives to models which no backend runs."""

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
METHODS = ("check", "languages", "load")


@dataclass(frozen=True)
class BrokenBackend:
    """A package's backend that cannot be used, and why."""

    group: str
    entry: str
    package: str
    reason: str


@dataclass(frozen=True)
class _DiscoveredBackends:
    by_name: Mapping[str, Any]
    broken: tuple[BrokenBackend, ...]


def backends() -> Mapping[str, Backend]:
    return _discovered(OWN_BACKENDS, BACKENDS_GROUP).by_name


def translators() -> Mapping[str, TranslatorBackend]:
    return _discovered(OWN_TRANSLATORS, TRANSLATORS_GROUP).by_name


def encoders() -> Mapping[str, EncoderBackend]:
    """Return the encoder backends; only our own."""
    return _ours(ENCODERS)


def broken_backends() -> list[BrokenBackend]:
    """List backends and translators of installed packages that cannot be used."""
    return [*_discovered(OWN_BACKENDS, BACKENDS_GROUP).broken, *_discovered(OWN_TRANSLATORS, TRANSLATORS_GROUP).broken]


def backend_named(name: str) -> Backend:
    """Raises BackendSettingsError where no such backend is installed here."""
    return _entry_named(OWN_BACKENDS, BACKENDS_GROUP, name)


def trainable_backend(family: str) -> Any:
    """Return the backend of ours that can train models of this family."""
    found: list[Any] = [one for one in backends().values() if hasattr(one, "load_folder") and hasattr(one, "runs")]
    return next(one for one in found if one.runs(family))


def names_languages(backend: Backend, family: str, options: Mapping[str, Any]) -> bool:
    """Whether what the backend asks models of this family says which language to write. Those that do not say: no."""
    ask = getattr(backend, "names_languages", None)
    return ask is not None and bool(ask(family, options))


def languages_read(backend: TranslatorBackend, spec: ModelSpec) -> Mapping[str, str]:
    """Map the languages from which a model translates into English to its own codes; none where it cannot.

    Raises
    ------
    BackendSettingsError
    """
    return backend.reads(spec) if hasattr(backend, "reads") else {}


def translator_named(name: str) -> TranslatorBackend:
    """Raises BackendSettingsError."""
    return _entry_named(OWN_TRANSLATORS, TRANSLATORS_GROUP, name)


def encoder_named(name: str) -> EncoderBackend:
    """Raises EncoderSettingsError where there is no such encoder."""
    if name not in encoders():
        raise EncoderSettingsError(f"There is no encoder {name!r}. Available: {', '.join(encoders())}.")
    return encoders()[name]


def check_decoding(backend: Backend | TranslatorBackend, spec: ModelSpec, decoding: Decoding) -> None:
    """Check that the model can decode in this way. Backends without a check accept everything.

    Raises BackendSettingsError.
    """
    check = getattr(backend, "check_decoding", None)
    if check is not None:
        check(spec, decoding)


def modules_here() -> frozenset[str]:
    """List the modules installed here of those that any backend may need, without importing them."""
    known = {*LOADING_MODULES}
    for one in (*backends().values(), *translators().values(), *encoders().values()):
        known.update(getattr(one, "needs", ()))
    return frozenset(name for name in known if is_here(name))


def is_here(module: str) -> bool:
    return find_spec(module.partition(".")[0]) is not None


def missing_modules(backend: Backend | TranslatorBackend | EncoderBackend) -> list[str]:
    """List the modules that a backend needs and that are not installed here, without importing them."""
    return [name for name in getattr(backend, "needs", ()) if not is_here(name)]


def package_of(backend: Backend | TranslatorBackend) -> str:
    """Name the installed package of a backend; empty for our own."""
    return backend.package if isinstance(backend, _PackageBackend) else ""


class _PackageBackend:
    """A package's backend. Any exception before it captions becomes a `BackendSettingsError`."""

    def __init__(self, inner: Any, package: str) -> None:
        self._inner, self.package = inner, package

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def check(self, spec: ModelSpec) -> None:
        self._asked("check", spec)

    def check_decoding(self, spec: ModelSpec, decoding: Decoding) -> None:
        if hasattr(self._inner, "check_decoding"):
            self._asked("check_decoding", spec, decoding)

    def languages(self, spec: ModelSpec) -> Mapping[str, str]:
        return self._codes("languages", spec)

    def reads(self, spec: ModelSpec) -> Mapping[str, str]:
        return self._codes("reads", spec) if hasattr(self._inner, "reads") else {}

    def _codes(self, method: str, spec: ModelSpec) -> Mapping[str, str]:
        codes = self._asked(method, spec)
        if not isinstance(codes, Mapping) or not all(isinstance(text, str) for pair in codes.items() for text in pair):
            raise BackendSettingsError(f"{self._who()} does not say which languages it knows. {self._whom()}")
        return codes

    def load(self, spec: ModelSpec) -> Any:
        return self._asked("load", spec)

    def _asked(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._inner, method)(*arguments)
        except (BackendSettingsError, BackendDownError, ExtraMissingError):
            raise
        except Exception as error:
            log.exception("%s failed in %s", self._who(), method)
            raise BackendSettingsError(f"{self._who()} failed ({type(error).__name__}). {self._whom()}") from error

    def _who(self) -> str:
        return f"The backend {self._inner.name} of the package {self.package}"

    def _whom(self) -> str:
        return "Tell its authors; the log has more."


def _entry_named(own: tuple[str, ...], group: str, name: str) -> Any:
    entry = _discovered(own, group)
    if name in entry.by_name:
        return entry.by_name[name]
    reasons = [f"The package {one.package} brings it, but: {one.reason}. " for one in entry.broken if one.entry == name]
    raise BackendSettingsError(
        f"No backend {name!r} is installed here. {''.join(reasons)}Available: {', '.join(entry.by_name)}; others come "
        "as packages (docs/backends.md)."
    )


@cache
def _ours(paths: tuple[str, ...]) -> Mapping[str, EncoderBackend]:
    return {one.name: one for one in (_imported(path)() for path in paths)}


@cache
def _discovered(own: tuple[str, ...], group: str) -> _DiscoveredBackends:
    by_name = {one.name: one for one in (_imported(path)() for path in own)}
    left_out = []
    for entry in sorted(entry_points(group=group), key=lambda entry: (_package(entry), entry.name)):
        try:
            one = _PackageBackend(_checked(entry), _package(entry))
            # Our own names win: a package must not silently take the place of what runs were made with.
            if one.name in by_name:
                raise BackendSettingsError(f"there is another backend named {one.name}")
            by_name[one.name] = one
        except (Exception, SystemExit) as error:
            reason = str(error) if isinstance(error, BackendSettingsError) else f"{type(error).__name__}: {error}"
            left_out.append(BrokenBackend(group, entry.name, _package(entry), reason))
            log.warning("The %s %s of the package %s is left out: %s", group, entry.name, _package(entry), reason)
    return _DiscoveredBackends(by_name, tuple(left_out))


def _checked(entry: EntryPoint) -> Any:
    one = entry.load()()
    name = getattr(one, "name", None)
    if not isinstance(name, str) or NAME.fullmatch(name) is None or name in RESERVED:
        raise BackendSettingsError(
            f"its name is {name!r}: use at most 40 lower-case letters, digits, points and hyphens, and none of "
            f"{', '.join(RESERVED)}"
        )
    lacking = [each for each in ("title", "queue") if not (isinstance(getattr(one, each, None), str))]
    lacking += [each for each in METHODS if not callable(getattr(one, each, None))]
    needs = getattr(one, "needs", ())
    if not isinstance(needs, tuple | list) or not all(isinstance(module, str) for module in needs):
        raise BackendSettingsError(f"its needs are {needs!r}: names of modules are taken, such as ('torch',)")
    if lacking:
        raise BackendSettingsError(f"it has no {', '.join(lacking)}")
    return one


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "(unknown)"


def _imported(path: str) -> Any:
    module, _colon, name = path.partition(":")
    return getattr(import_module(module), name)
