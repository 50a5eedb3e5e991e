"""What a registered model needs of a worker."""

from __future__ import annotations

from research.inference.backends import registry
from research.inference.backends.captioners import BackendSettingsError
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


def needs_of(registered: CaptioningModel | Translator | Encoder, *, precision: str = "auto") -> WorkNeeds:
    """Find what is needed to caption, translate or encode; nothing if its backend is not installed here."""
    if isinstance(registered, CaptioningModel):
        registered = registered.runner
    try:
        if isinstance(registered, Encoder):
            return WorkNeeds(frozenset(getattr(registry.encoder_named(registered.backend), "needs", ())))
        modules = frozenset(getattr(model_cache.backend_of(registered), "needs", ()))
    except BackendSettingsError:
        # The worker that executes it reports the error.
        return WorkNeeds()
    if registry.PYTORCH not in modules:
        return WorkNeeds(modules)
    options = registered.options
    for name, packages in PACKAGES.items():
        modules |= packages if options.get(name) else set()
    quantised = QUANTISED_BYTES.get(str(options.get("quantisation")))
    return WorkNeeds(
        modules=modules,
        parameters=parameters_here(registered.spec),
        cpu_bytes=BYTES.get(precision, 4.0),
        gpu_bytes=quantised or BYTES.get(precision, 2.0),
        is_spread=bool(options.get("device_map")),
        takes_gpu=quantised is not None,
    )
