"""What to do where a device's memory is full: say so, let go of the batch that did not fit, and try a smaller one.

An exception holds the frames that it came through, and these hold the tensors of the batch. Where a generator with
`contextmanager` raises another exception, the two and their frames hold each other from Python 3.12 on: until the
garbage collector comes by, there is even less memory for the smaller batch.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from traceback import clear_frames
from types import TracebackType
from typing import Any, Self, TypeVar

from django.utils.translation import gettext as _

from research.inference.backends.captioners import BackendSettingsError, OutOfMemoryError

log = logging.getLogger(__name__)

PHRASES = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory", "alloc_failed")
"""Of PyTorch, the driver and CUDA's libraries."""

Result = TypeVar("Result")
Model = TypeVar("Model", bound=Any)


class BatchAttempt:
    """An attempt to compute a batch, as a context manager.

    If memory runs out, it ends quietly: `has_run_out` is true, and nothing holds the batch any more but the caller.
    """

    has_run_out = False
    said = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _frames: TracebackType | None
    ) -> bool:
        if error is None or not has_run_out(error):
            return False
        self.has_run_out, self.said = True, str(error)
        _let_go(error)
        _empty_cache()
        return True


class MemoryGuard:
    """A context manager around what is put on a device or computed there, for those who do not try again themselves.

    Raises OutOfMemoryError if memory runs out. It holds no tensor of what did not fit.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _frames: TracebackType | None
    ) -> None:
        if error is not None and has_run_out(error):
            said = str(error)
            _let_go(error)
            raise OutOfMemoryError(said) from None


def has_run_out(error: BaseException) -> bool:
    """Whether the error says that memory ran out, in whatever words."""
    # PyTorch's own is known by its name, because PyTorch need not be installed.
    if isinstance(error, OutOfMemoryError | MemoryError) or type(error).__name__ == OutOfMemoryError.__name__:
        return True
    return isinstance(error, RuntimeError) and any(phrase in str(error).lower() for phrase in PHRASES)


def in_halves(
    compute: Callable[[slice], Sequence[Result]],
    number: int,
    *,
    size: int,
    too_large: Callable[[], Result] | None = None,
) -> tuple[list[Result], int]:
    """Compute a result for each of `number` items, `size` at once, and half as many whenever memory runs out.

    Returns the results, and how many at once fitted. An item that does not fit even by itself gets what `too_large`
    returns, and the others are computed together as before.

    Raises OutOfMemoryError if an item does not fit even by itself, and there is no `too_large`.
    """
    results: list[Result] = []
    start, at_once = 0, size
    while start < number:
        end = min(start + at_once, number)
        with BatchAttempt() as attempt:
            results += compute(slice(start, end))
        if attempt.has_run_out and end - start > 1:
            at_once = (end - start) // 2
            log.warning("Memory ran out for %s at once. Going on with %s. (%s)", end - start, at_once, attempt.said)
            continue
        if attempt.has_run_out:
            if too_large is None:
                raise OutOfMemoryError(attempt.said)
            results.append(too_large())
            at_once = size
        start = end
    return results, at_once


def moved_model(model: Model, place: Any) -> Model:
    """Move a model to a device, or convert it to a precision.

    Raises BackendSettingsError if it does not fit. A part of its weights may be there already.
    """
    with BatchAttempt() as attempt:
        model = model.to(place)
    if attempt.has_run_out:
        raise BackendSettingsError(
            _(
                "The model does not fit into the memory of the device (%(error)s). Stop other programs that use it, or "
                "use a worker with more memory."
            )
            % {"error": attempt.said.partition("\n")[0]}
        )
    return model


def _let_go(error: BaseException | None) -> None:
    """Empty the frames of an error and of those that led to it."""
    while error is not None:
        clear_frames(error.__traceback__)
        before = error.__cause__ or error.__context__
        error.__traceback__ = error.__cause__ = error.__context__ = None
        error = before


def _empty_cache() -> None:
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        # A device that failed altogether says so again with the next batch.
        with suppress(RuntimeError):
            cuda.empty_cache()
