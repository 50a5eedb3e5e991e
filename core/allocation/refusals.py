"""Why a step with a batch was refused: the one place that gives an error of a service its status, code and sentence.

Pages, their scripts and the API answer from it. Apps add their own errors with `explained.register`, in a module that
they name to `register_module`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from importlib import import_module
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist
from django.utils.translation import gettext_lazy as _

from core.allocation.services.errors import (
    BatchReturnedError,
    LeaseExpiredError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolBusyError,
    PoolClosedError,
    TaskGoneError,
)
from core.people.selectors.qualification import NotQualifiedError

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


@dataclass(frozen=True)
class AllocationRefusal:
    """`code` never changes; `errors` says more, by field or position; `stored` is what the sender needs to continue."""

    status: int
    code: str
    message: str
    errors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    stored: Mapping[str, Any] = field(default_factory=dict)
    open_batch: UUID | None = None


class RefusedError(Exception):
    """Raised where a view itself refuses what was sent."""

    def __init__(self, refusal: AllocationRefusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


@singledispatch
def explained(error: Exception) -> AllocationRefusal:
    """Each kind of error is registered with what explains it. Any other error is raised again."""
    raise error


def refusal_of(error: Exception) -> AllocationRefusal:
    """Explain an error of a service. Any other error is raised again."""
    # Imported at the first error, not at each start: they import the services whose errors they explain. Before any
    # is explained: theirs may be of a kind that is explained here.
    for module in _modules:
        import_module(module)
    return explained(error)


_modules: list[str] = []


def register_module(name: str) -> None:
    """Have the module `name` imported before an error is explained."""
    _modules.append(name)


@explained.register
def _refused(error: RefusedError) -> AllocationRefusal:
    return error.refusal


@explained.register
def _not_qualified(error: NotQualifiedError) -> AllocationRefusal:
    errors = {missing.code: [str(missing.message)] for missing in error.missing_requirements}
    return AllocationRefusal(403, "not-qualified", " ".join(reason for (reason,) in errors.values()), errors)


def refuse_as(error: type[Exception], status: int, code: str, message: StrPromise) -> None:
    """Explain every error of a kind in the same way."""
    explained.register(error, lambda _error: AllocationRefusal(status, code, str(message)))


def refuse_as_not_assigned(*errors: type[ObjectDoesNotExist]) -> None:
    """Answer 404 where a service finds no such row of the person."""
    for error in errors:
        refuse_as(error, 404, "not-found", _("This is not assigned to you."))


refuse_as(PoolClosedError, 409, "pool-closed", _("This work is closed for now. A manager can open it again."))
refuse_as(
    PoolBusyError, 409, "pool-busy", _("Other people are taking the last tasks right now. Try again in a few seconds.")
)
refuse_as(
    NoTasksAvailableError,
    409,
    "no-tasks-available",
    _("The rest of this batch has been reassigned. Your work is kept."),
)
refuse_as(LeaseExpiredError, 410, "lease-expired", _("This batch has expired. You can resume it."))
refuse_as(BatchReturnedError, 410, "batch-returned", _("This batch was returned. You can resume it."))
refuse_as(TaskGoneError, 409, "task-gone", _("This image is no longer assigned to you."))


@explained.register
def _open_batch_exists(error: OpenBatchExistsError) -> AllocationRefusal:
    said, batch = str(_("Finish or return this batch first.")), error.batch.pk
    return AllocationRefusal(409, "open-batch-exists", said, stored={"batch": str(batch)}, open_batch=batch)
