"""What a registered model needs of a worker."""

from __future__ import annotations

from research.inference.backends import registry
from research.inference.backends.captioners import BackendSettingsError, ModelSpec
from research.inference.backends.encoders import EncoderSettingsError
from research.inference.backends.transformer_files import parameters_here
from research.inference.models import CaptioningModel, Encoder, Translator
from research.inference.rules.capacity import WorkNeeds
from research.inference.services import model_cache

PACKAGES = {"device_map": {"accelerate"}, "quantisation": {"accelerate", "bitsandbytes"}}
"""Of options that say how weights are loaded."""
BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0}
"""Of a weight in memory."""
QUANTISED_BYTES = {"4bit": 0.6, "8bit": 1.1}
"""With the layers that stay as they are."""


def needs_of(model: CaptioningModel | None, encoder: Encoder | None = None, *, precision: str = "auto") -> WorkNeeds:
    """Find what is needed to caption or to encode; nothing if its backend is not installed here."""
    try:
        backend = model_cache.backend_of(model, encoder)
    except (BackendSettingsError, EncoderSettingsError):
        # The worker that executes it reports the error.
        return WorkNeeds()
    modules = frozenset(getattr(backend, "needs", ()))
    if encoder is not None:
        return WorkNeeds(modules)
    assert model is not None
    if model.translator is not None:
        return translator_needs(model.translator, precision=precision)
    return _with_weights(modules, model_cache.spec_of(model), precision)


def translator_needs(translator: Translator, *, precision: str = "auto") -> WorkNeeds:
    try:
        modules = frozenset(getattr(registry.translator_named(translator.backend), "needs", ()))
    except BackendSettingsError:
        return WorkNeeds()
    return _with_weights(modules, model_cache.translator_spec_of(translator), precision)


def _with_weights(modules: frozenset[str], spec: ModelSpec, precision: str) -> WorkNeeds:
    if registry.PYTORCH not in modules:
        return WorkNeeds(modules)
    options = spec.options
    for name, packages in PACKAGES.items():
        modules |= packages if options.get(name) else set()
    quantised = QUANTISED_BYTES.get(str(options.get("quantisation")))
    return WorkNeeds(
        modules=modules,
        parameters=parameters_here(spec),
        cpu_bytes=BYTES.get(precision, 4.0),
        gpu_bytes=quantised or BYTES.get(precision, 2.0),
        is_spread=bool(options.get("device_map")),
        takes_gpu=quantised is not None,
    )
