"""Prepare a run for its page: progress, obstacles and possible actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from inference.backends.captioners import Decoding
from inference.models import Run, RunState
from inference.pages.units import count_text, duration_text, rate_text
from inference.pages.workers import WorkerLine, worker_line
from inference.selectors.runs import Log, RunDetails

WORKER_COMMAND = "celery --app config worker --queues {queue}"


@dataclass(frozen=True)
class RunPage:
    run: Run
    percent: int
    gone_through: int
    counts: Mapping[str, str]
    """What has been made, was there, failed, was gone through and is to be there in the end, as text."""
    rate: str
    left: str
    took: str
    """From its start to its end; empty until then."""
    workers: Sequence[WorkerLine]
    log: Log
    is_going: bool
    is_loading: bool
    command: str
    """What starts a worker, where the run waits for one and none takes from its queue."""

    @property
    def can_pause(self) -> bool:
        return self.is_going

    @property
    def can_resume(self) -> bool:
        # Where every image was tried and failed, trying again is what helps.
        is_over = self.run.already + self.run.done + self.run.failed >= self.run.total
        return self.run.state == RunState.PAUSED or (self.run.state == RunState.FAILED and not is_over)

    @property
    def can_cancel(self) -> bool:
        return self.is_going or self.run.state in (RunState.PAUSED, RunState.FAILED)

    @property
    def can_retry(self) -> bool:
        return bool(self.run.failed) and not self.is_going


def run_page(details: RunDetails, log: Log) -> RunPage:
    run = details.run
    took = run.finished_at - run.started_at if run.started_at and run.finished_at else None
    return RunPage(
        run=run,
        percent=details.percent,
        gone_through=details.gone_through,
        counts={
            "done": count_text(run.done),
            "already": count_text(run.already),
            "failed": count_text(run.failed),
            "gone_through": count_text(details.gone_through),
            "total": count_text(run.total),
        },
        rate=rate_text(details.rate),
        left=duration_text(details.left),
        took=duration_text(took),
        workers=[worker_line(row) for row in details.workers],
        log=log,
        is_going=details.is_going,
        is_loading=details.is_loading,
        command="" if details.listeners or not details.is_going else WORKER_COMMAND.format(queue=run.queue),
    )


def decoding_lines(stored: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List names and values of the settings, in the order of the form; none if nothing is decoded yet."""
    if not stored:
        return []
    decoding = Decoding.from_stored(stored)
    lines = [(_("Beams"), str(decoding.beams))]
    lines += [(_("Tokens"), _("%(low)s to %(high)s") % {"low": decoding.min_tokens, "high": decoding.max_tokens})]
    if decoding.beams > 1:
        lines.append((_("Length penalty"), f"{decoding.length_penalty:g}"))
    if decoding.temperature:
        lines.append((_("Temperature"), f"{decoding.temperature:g}"))
        lines.append((_("Top-p"), f"{decoding.top_p:g}"))
        lines.append((_("Seed"), str(decoding.seed)))
    lines.append((_("Precision"), decoding.precision))
    if decoding.is_consistent:
        lines.append((_("Stabiliser"), _("the same for all languages")))
    return lines
