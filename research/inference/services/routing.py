"""Route messages to workers that fit what a model needs: all workers of a queue share it, whatever they have."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from research.inference.backends import registry
from research.inference.backends.captioners import BackendSettingsError
from research.inference.backends.encoder_decoder import EncoderDecoderBackend
from research.inference.backends.transformer_files import parameters_here
from research.inference.models import UNFINISHED_STATES, CaptioningModel, Encoder, Run, Training, Translator
from research.inference.rules.capacity import WorkNeeds, fits
from research.inference.services import chunks, model_cache, worker_status
from research.inference.training.options import TrainingMethod

PACKAGES = {"device_map": {"accelerate"}, "quantisation": {"accelerate", "bitsandbytes"}}
"""Of options that say how weights are loaded."""
BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0}
"""Of a weight in memory."""
QUANTISED_BYTES = {"4bit": 0.6, "8bit": 1.1}
"""With the layers that stay as they are."""
TRAINED_BYTES = {TrainingMethod.FULL: 16.0, TrainingMethod.LORA: 4.0}
"""Of memory for each weight in 32 bits; if all are changed, its gradient and two means of gradients, too."""


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


def is_run_for_another(*, run_id: int, now: datetime) -> bool:
    """Whether the run does not fit this process, and fits another: one that listens or is at it.

    The latter may listen to no queue, as `caption_images` does, or have been too busy to report lately.
    """
    run = (
        Run.objects.select_related("model__translator", "encoder")
        .filter(pk=run_id, state__in=UNFINISHED_STATES)
        .first()
    )
    if run is None:
        return False
    needs = needs_of(run.made_by, precision=run.decoding.get("precision", "auto"))
    if fits(needs, worker_status.own_capacity()):
        return False
    return chunks.held_chunks(now=now).filter(run=run).exists() or is_for_another(needs, queue=run.queue, now=now)


def is_training_for_another(*, training_id: int, now: datetime) -> bool:
    """Whether the same is true of a training, which always needs PyTorch."""
    training = Training.objects.select_related("base").filter(pk=training_id, state__in=UNFINISHED_STATES).first()
    if training is None:
        return False
    method = TrainingMethod(training.options.get("method", TrainingMethod.FULL))
    needs = needs_of(training.base) if training.base else WorkNeeds(frozenset(EncoderDecoderBackend.needs))
    bytes_each = TRAINED_BYTES[method]
    packages = {"peft"} if method == TrainingMethod.LORA else set()
    needs = replace(needs, modules=needs.modules | packages, cpu_bytes=bytes_each, gpu_bytes=bytes_each)
    return is_for_another(needs, queue=training.queue, now=now)


def is_for_another(needs: WorkNeeds, *, queue: str, now: datetime) -> bool:
    """Whether this process lacks what is needed, and a worker that listens to `queue` has it."""
    if fits(needs, worker_status.own_capacity()):
        return False
    return worker_status.count_listening(queue=queue, now=now, needs=needs) > 0
