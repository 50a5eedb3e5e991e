"""A worker of the fake backend in a hurry: `celery --app tests.inference.fake_worker worker`."""

from __future__ import annotations

from datetime import timedelta

from config.celery import app
from tests.inference import fake_backend

LEASE_S = 1.5


def hurry() -> None:
    from core.jobs.services import leases
    from research.inference import tasks
    from research.inference.services import chunks, executor, worker_status

    leases.LEASE = timedelta(seconds=LEASE_S)
    chunks.RENEW_EVERY_S = 0.4
    executor.STORE_EVERY_S = 0.05
    tasks.SHORT_SLICE_S = 0.7
    worker_status.CHECK_EVERY_S = 0.1


@app.on_after_finalize.connect
def _begin(**_about: object) -> None:
    fake_backend.register()
    hurry()
