"""Put a batch through the model, in another thread than the one with the database.

A batch that does not fit in memory is halved; an image with which the model crashes fails alone.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Sequence
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
    with meter.computing():
        results, size = _halved(job_kind, images, prepared, part, size)
    outcomes = [PartOutcome(image, part, result) for image, result in zip(images, results, strict=True)]
    return BatchResult(outcomes, size)


def _halved(
    job_kind: JobKind, images: Sequence[PendingImage], prepared: Sequence[Any], part: str, size: int
) -> tuple[list[Any], int]:
    return in_halves(
        lambda chosen: _results(job_kind, images[chosen], prepared[chosen], part),
        len(images),
        size=size,
        too_large=_too_large,
    )


def _results(job_kind: JobKind, images: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any]:
    try:
        results = job_kind.compute(images, prepared, part)
        if len(results) != len(images):
            raise ValueError(f"{len(results)} results for {len(images)} images")
        return list(results)
    except RUN_ERRORS:
        raise
    except Exception as error:
        if has_run_out(error):
            raise
        if len(images) == 1:
            log.exception("Image %s, %s", images[0].key, part)
            reason = _("The model failed on it (%(error)s).") % {"error": type(error).__name__}
            return [CrashedImage(reason, traceback_of(error))]
    return _halved(job_kind, images, prepared, part, size=1)[0]


def _too_large() -> FailedImage:
    # A crash and not a plain failure: if every image is too large, something else has taken the memory.
    return CrashedImage(_("Memory ran out, even for this image by itself."))
