"""Why a batch cannot be taken, saved, resumed or moved."""

from __future__ import annotations

from allocation.models import Batch


class PoolBusyError(Exception):
    """Places are open, but others are taking all of them right now: try again in a moment."""


class PoolClosedError(Exception):
    """No new batches are handed out from this pool at present."""


class LeaseExpiredError(Exception):
    """The lease is over: the batch can be taken up again, as far as its tasks are still free."""


class BatchReturnedError(Exception):
    """The batch was given back; it can be taken up again, as far as its tasks are still free."""


class NoTasksAvailableError(Exception):
    """Everything in this batch has gone to other people since."""


class BatchClosedError(Exception):
    """The batch is in nobody's hands any more: handed in, given back, or its time ran out."""


class OpenBatchExistsError(Exception):
    """The person already has an open batch of this pool."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(batch.pk)
        self.batch = batch
