"""Admin pages for operators: models, word vectors, runs and workers. No page shows captions, so none can leak."""

from __future__ import annotations

from core.people.admin import look_up
from research.inference.models import CaptioningModel, Run, WordVectorSet, Worker

look_up(CaptioningModel, Run, WordVectorSet, Worker, hidden=("trial_captions",))
