"""Prepare a trial for its page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from charts import texts
from inference.models import Trial
from inference.pages.runs import WORKER_COMMAND
from inference.selectors.trials import TrialDetails, is_listened_to, trial_details
from inference.services.trials import queue_of
from people.models import User


@dataclass(frozen=True)
class TrialPage:
    details: TrialDetails
    seconds: str
    """Empty until it is done."""
    queue: str
    command: str
    """What starts a worker, where the trial waits for one and none takes from its queue."""


def trial_page(trial: Trial, viewer: User, *, now: datetime) -> TrialPage:
    details = trial_details(trial, viewer)
    queue = queue_of(trial.pk) if details.is_open else ""
    is_alone = details.is_open and not is_listened_to(queue, now=now)
    return TrialPage(
        details=details,
        seconds="" if details.seconds is None else texts.plain(details.seconds, 1),
        queue=queue,
        command=WORKER_COMMAND.format(queue=queue) if is_alone else "",
    )
