"""Route messages to workers that have PyTorch: all workers of a queue share it, whatever is installed there."""

from __future__ import annotations

from datetime import datetime

from images.models import OPEN_STATES
from inference.backends import registry
from inference.backends.captioners import BackendSettingsError
from inference.backends.encoder_decoder import EncoderDecoderBackend
from inference.models import GOING, CaptioningModel, Encoder, Run, Training, Trial
from inference.services import model_cache, trials, worker_status


def is_run_for_another(*, run_id: int, now: datetime) -> bool:
    """Whether the run needs PyTorch, which this process lacks and another listening worker has."""
    runs = Run.objects.select_related("model__translator", "encoder")
    run = runs.filter(pk=run_id, state__in=GOING).first()
    if run is None or not _lacks_pytorch(run.model, run.encoder):
        return False
    return worker_status.count_listening(queue=run.queue, now=now, with_pytorch=True) > 0


def is_trial_for_another(*, trial_id: int, now: datetime) -> bool:
    """Whether the same is true of a trial."""
    trial = Trial.objects.select_related("model__translator").filter(pk=trial_id, state__in=OPEN_STATES).first()
    if trial is None or not _lacks_pytorch(trial.model):
        return False
    return worker_status.count_listening(queue=trials.queue_of(trial_id), now=now, with_pytorch=True) > 0


def is_training_for_another(*, training_id: int, now: datetime) -> bool:
    """Whether the same is true of a training, which always needs PyTorch."""
    if registry.PYTORCH not in registry.missing_modules(registry.backend_named(EncoderDecoderBackend.name)):
        return False
    queues = Training.objects.filter(pk=training_id, state__in=GOING).values_list("queue", flat=True)
    return any(worker_status.count_listening(queue=queue, now=now, with_pytorch=True) for queue in queues)


def _lacks_pytorch(model: CaptioningModel | None, encoder: Encoder | None = None) -> bool:
    """Whether PyTorch is needed and not installed here."""
    try:
        return registry.PYTORCH in registry.missing_modules(model_cache.backend_of(model, encoder))
    except BackendSettingsError:
        # The worker that executes it reports the error.
        return False
