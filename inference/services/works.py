"""Which kind of work a run is."""

from __future__ import annotations

from inference.models import TRANSLATED, Run
from inference.services.captioning import Captioning, Translating
from inference.services.working import Work


def work_of(run: Run) -> Work:
    assert run.model is not None
    return Translating(run, run.model) if run.model.backend == TRANSLATED else Captioning(run, run.model)
