"""Route messages to workers that fit: all workers of a queue share it, whatever they have."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from inference.backends.encoder_decoder import EncoderDecoderBackend
from inference.models import GOING, Run, Training
from inference.rules.capacity import Needs, fits
from inference.services import chunks, worker_status
from inference.services.needs import needs_of
from inference.training.options import Method

TRAINED_BYTES = {Method.FULL: 16.0, Method.LORA: 4.0}
"""Of memory for each weight in 32 bits; if all are changed, its gradient and two means of gradients, too."""


def is_run_for_another(*, run_id: int, now: datetime) -> bool:
    """Whether the run does not fit this process, and fits another: one that listens or is at it.

    The latter may listen to no queue, as `caption_images` does, or have been too busy to report lately.
    """
    run = Run.objects.select_related("model__translator", "encoder").filter(pk=run_id, state__in=GOING).first()
    if run is None:
        return False
    needs = needs_of(run.model, run.encoder, precision=run.decoding.get("precision", "auto"))
    if fits(needs, worker_status.own_capacity()):
        return False
    return chunks.held(now=now).filter(run=run).exists() or is_for_another(needs, queue=run.queue, now=now)


def is_training_for_another(*, training_id: int, now: datetime) -> bool:
    """Whether the same is true of a training, which always needs PyTorch."""
    training = Training.objects.select_related("base").filter(pk=training_id, state__in=GOING).first()
    if training is None:
        return False
    method = Method(training.options.get("method", Method.FULL))
    needs = needs_of(training.base) if training.base else Needs(frozenset(EncoderDecoderBackend.needs))
    bytes_each = TRAINED_BYTES[method]
    packages = {"peft"} if method == Method.LORA else set()
    needs = replace(needs, modules=needs.modules | packages, cpu_bytes=bytes_each, gpu_bytes=bytes_each)
    return is_for_another(needs, queue=training.queue, now=now)


def is_for_another(needs: Needs, *, queue: str, now: datetime) -> bool:
    """Whether this process lacks what is needed, and a worker that listens to `queue` has it."""
    if fits(needs, worker_status.own_capacity()):
        return False
    return worker_status.count_listening(queue=queue, now=now, needs=needs) > 0
