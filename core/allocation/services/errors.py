"""Why a batch cannot be taken, saved, resumed or moved."""

from __future__ import annotations

from core.allocation.models import Batch


class PoolBusyError(Exception):
    """Places are open, but others are taking all of them right now: try again in a moment."""


class PoolClosedError(Exception):
    """The pool is closed: it assigns no new batches."""


class LeaseExpiredError(Exception):
    """The batch has expired. It can be resumed while its tasks are still free."""


class BatchReturnedError(Exception):
    """The batch was returned. It can be resumed while its tasks are still free."""


class NoTasksAvailableError(Exception):
    """Other people have since taken every task of this batch."""


class TaskGoneError(Exception):
    """This task of the batch is no longer the person's: it was reassigned, or they reported its image."""


class BatchClosedError(Exception):
    """The batch is no longer assigned: it was submitted, was returned, or has expired."""


class OpenBatchExistsError(Exception):
    """The person already has an open batch of this pool."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(batch.pk)
        self.batch = batch
