"""Which kind of work a run is."""

from __future__ import annotations

from inference.models import TRANSLATED, Run
from inference.services import embedding
from inference.services.captioning import Captioning, Translating
from inference.services.job_kind import Work


def work_of(run: Run) -> Work:
    if run.encoder is not None:
        return embedding.work_of(run, run.encoder)
    assert run.model is not None
    return Translating(run, run.model) if run.model.backend == TRANSLATED else Captioning(run, run.model)
