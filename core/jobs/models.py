"""The columns of rows with background work."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class JobState(models.TextChoices):
    """The state of a row with background work: the row is the truth, the task only a nudge."""

    QUEUED = "queued", _("Waiting")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


OPEN_STATES = (JobState.QUEUED, JobState.RUNNING)


class Leased(models.Model):
    """A row with background work that one worker at a time has; see `core.jobs.services.leases`."""

    state = models.CharField(max_length=8, choices=JobState.choices, default=JobState.QUEUED)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        abstract = True


class Due(models.Model):
    """A row that is sent to somebody at a time, and perhaps again after a pause."""

    due_at = models.DateTimeField(help_text="Not to be sent before; if it is being sent, when that began.")
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        abstract = True


class Job(Leased):
    """Work that people see begin and end; `error` is the reason if it failed."""

    error = models.TextField(blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
