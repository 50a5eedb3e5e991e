"""The sweep of all jobs, without workers."""

from __future__ import annotations

from typing import Any

import pytest

from core.jobs.tasks import sweep_jobs


def sweep(*tasks: Any) -> None:
    """Sweep; those of `tasks` that it sends are done at once."""
    with pytest.MonkeyPatch.context() as patch:
        for task in tasks:
            patch.setattr(task, "delay", task)
        sweep_jobs()
