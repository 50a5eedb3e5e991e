"""Who does what: a queue is shared by all workers that listen to it, whatever is installed where they run."""

from __future__ import annotations

from datetime import datetime

from inference.backends import registry
from inference.backends.captioners import BackendRefused
from inference.models import CaptioningModel, Encoder, Run, Trial
from inference.services import trials, workers

PYTORCH = "torch"


def is_run_for_another(*, run_id: int, now: datetime) -> bool:
    """Whether this process lacks PyTorch for a run while a worker listens that has it."""
    run = Run.objects.select_related("model__translator", "encoder").filter(pk=run_id).first()
    if run is None or not _lacks_pytorch(run.model, run.encoder):
        return False
    return workers.is_pytorch_elsewhere(queue=run.queue, now=now)


def is_trial_for_another(*, trial_id: int, now: datetime) -> bool:
    """The same of a trial."""
    trial = Trial.objects.select_related("model__translator").filter(pk=trial_id).first()
    if trial is None or not _lacks_pytorch(trial.model):
        return False
    return workers.is_pytorch_elsewhere(queue=trials.queue_of(trial_id), now=now)


def _lacks_pytorch(model: CaptioningModel | None, encoder: Encoder | None = None) -> bool:
    """Whether it is needed and not installed here."""
    try:
        if encoder is not None:
            missing = registry.missing_modules(registry.encoder_named(encoder.backend))
        elif model is not None and model.translator is not None:
            missing = registry.missing_modules(registry.translator_named(model.translator.backend))
        else:
            missing = registry.missing_modules(registry.backend_named(model.backend)) if model else []
    except BackendRefused:
        # Whoever comes to it says so.
        return False
    return PYTORCH in missing
