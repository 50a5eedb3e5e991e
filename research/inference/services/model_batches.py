"""Put a batch through the model, in another thread than the one with the database.

A batch that does not fit in memory is halved; an image with which the model crashes fails alone.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from research.inference.backends.captioners import BackendDownError, BackendSettingsError, FailedImage
from research.inference.backends.encoders import EncoderSettingsError, ExtraMissingError
from research.inference.backends.memory import has_run_out, in_halves
from research.inference.services.job_kind import JobKind, PartOutcome, PendingImage
from research.inference.services.worker_status import meter

log = logging.getLogger(__name__)

RUN_ERRORS = (BackendSettingsError, BackendDownError, ExtraMissingError, EncoderSettingsError)
"""Errors that end the run: no image is to blame."""


@dataclass(frozen=True)
class CrashedImage(FailedImage):
    """The backend raised an exception with this image alone. If it does so with all, no image is to blame."""

    traceback: str = ""


def traceback_of(error: BaseException) -> str:
    """Format the traceback for the run's log, without the message, which may contain a caption."""
    frames = traceback.format_tb(error.__traceback__)
    return "".join([*frames, type(error).__name__])


@dataclass(frozen=True)
class BatchResult:
    """`size` is the size of the largest batch that fitted, and so of the next ones."""

    outcomes: list[PartOutcome]
    size: int


def compute_batch(
    job_kind: JobKind, images: Sequence[PendingImage], prepared: Sequence[Any], part: str, *, size: int
) -> BatchResult:
    """
    Raises
    ------
    BackendSettingsError, BackendDownError, ExtraMissingError, EncoderSettingsError
    """
    results, size = computed_apart(
        lambda chosen: job_kind.compute(images[chosen], prepared[chosen], part),
        [f"Image {image.key}, {part}" for image in images],
        size=size,
        failed=_("The model failed on it (%(error)s)."),
        too_large=_("Memory ran out, even for this image by itself."),
    )
    outcomes = [PartOutcome(image, part, result) for image, result in zip(images, results, strict=True)]
    return BatchResult(outcomes, size)


def computed_apart(
    compute: Callable[[slice], Sequence[Any]], names: Sequence[str], *, size: int, failed: str, too_large: str
) -> tuple[list[Any], int]:
    """Compute a result for each of the `names`, which the log has: what the model crashes with fails alone.

    Also returns how many at once fitted in memory. What does not fit even by itself is a crash and not a plain failure:
    if everything is too large, something else has taken the memory.

    Raises
    ------
    BackendSettingsError, BackendDownError, ExtraMissingError, EncoderSettingsError
    """

    def results(chosen: slice) -> list[Any]:
        some = names[chosen]
        try:
            made = list(compute(chosen))
            if len(made) != len(some):
                raise ValueError(f"{len(made)} results for {len(some)}")
            return made
        except RUN_ERRORS:
            raise
        except Exception as error:
            if has_run_out(error):
                raise
            if len(some) == 1:
                log.exception("%s", some[0])
                return [CrashedImage(failed % {"error": type(error).__name__}, traceback_of(error))]

        def alone(one: slice) -> list[Any]:
            return results(slice(chosen.start + one.start, chosen.start + one.stop))

        return in_halves(alone, len(some), size=1, too_large=crashed)[0]

    def crashed() -> CrashedImage:
        return CrashedImage(too_large)

    with meter.computing():
        return in_halves(results, len(names), size=size, too_large=crashed)
