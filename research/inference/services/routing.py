"""Route messages to workers that fit: all workers of a queue share it, whatever they have."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from research.inference.backends.encoder_decoder import EncoderDecoderBackend
from research.inference.models import UNFINISHED_STATES, Run, Training
from research.inference.rules.capacity import WorkNeeds, fits
from research.inference.services import chunks, worker_status
from research.inference.services.needs import needs_of
from research.inference.training.options import TrainingMethod

TRAINED_BYTES = {TrainingMethod.FULL: 16.0, TrainingMethod.LORA: 4.0}
"""Of memory for each weight in 32 bits; if all are changed, its gradient and two means of gradients, too."""


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
