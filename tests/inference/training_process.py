"""A worker in a process of its own, which says each step of a training."""

from __future__ import annotations

import os
import sys

import django


def main(training_id: int) -> None:
    django.setup()
    from django.conf import settings
    from django.utils import timezone

    from research.inference.services import training_worker
    from research.inference.training.checkpoints import StepRecord

    settings.TRAININGS_FOLDER = os.environ["TEST_TRAININGS_FOLDER"]
    location = {"OPTIONS": {"location": os.environ["TEST_MEDIA"]}}
    files = {"BACKEND": "django.core.files.storage.FileSystemStorage"}
    settings.STORAGES = settings.STORAGES | {"default": files | location}
    original = training_worker._ReportingWatcher.stepped

    def stepped(self: training_worker._ReportingWatcher, record: StepRecord) -> None:
        original(self, record)
        sys.stdout.write(f"{record.step}\n")
        sys.stdout.flush()

    training_worker._ReportingWatcher.stepped = stepped  # type: ignore[method-assign]
    training_worker.execute_training(training_id=training_id, worker="one:1", clock=timezone.now)
