"""A batch put through a model, beside the thread that has the database.

What is too large is halved; what is broken fails alone.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from inference.backends.captioners import BackendDownError, BackendSettingsError, Failed, OutOfMemoryError
from inference.backends.encoders import EncoderSettingsError, ExtraMissingError
from inference.services.job_kind import Made, PendingImage, Work
from inference.services.worker_status import meter

log = logging.getLogger(__name__)

OF_THE_WHOLE_RUN = (BackendSettingsError, BackendDownError, ExtraMissingError, EncoderSettingsError)
"""What no image is to blame for."""


@dataclass(frozen=True)
class Broke(Failed):
    """The backend raised something with this image alone. If it does so with all, it is not the image's fault."""

    where: str = ""


def where_it_broke(error: BaseException) -> str:
    """The traceback for the run's log, without the message, which may have an image's caption in it."""
    frames = traceback.format_tb(error.__traceback__)
    return "".join([*frames, type(error).__name__])


@dataclass(frozen=True)
class Computed:
    """`size` is that of the largest batch that fitted, which is what the next ones are to have."""

    made: list[Made]
    size: int


def compute(work: Work, items: Sequence[PendingImage], prepared: Sequence[Any], part: str, *, size: int) -> Computed:
    """
    Raises
    ------
    BackendSettingsError, BackendDownError, ExtraMissingError, EncoderSettingsError
    """
    size_before = size
    results: list[Any] = []
    while len(results) < len(items):
        chosen = slice(len(results), len(results) + size)
        try:
            with meter.computing():
                found = _results(work, items[chosen], prepared[chosen], part)
        except OutOfMemoryError:
            if len(items[chosen]) > 1:
                size = len(items[chosen]) // 2
                continue
            # It was this one image: the others fit as before.
            found, size = [_too_large()], size_before
        results += found
    made = [Made(item, part, result) for item, result in zip(items, results, strict=True)]
    return Computed(made, size)


def _results(work: Work, items: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any]:
    try:
        found = work.compute(items, prepared, part)
        if len(found) != len(items):
            raise ValueError(f"{len(found)} results for {len(items)} images")
        return list(found)
    except (OutOfMemoryError, *OF_THE_WHOLE_RUN):
        raise
    except Exception as error:
        if len(items) == 1:
            log.exception("Image %s, %s", items[0].key, part)
            said = _("The model failed with it (%(error)s).") % {"error": type(error).__name__}
            return [Broke(said, where_it_broke(error))]
    return [result for item, one in zip(items, prepared, strict=True) for result in _alone(work, item, one, part)]


def _alone(work: Work, item: PendingImage, prepared: Any, part: str) -> list[Any]:
    try:
        return _results(work, [item], [prepared], part)
    except OutOfMemoryError:
        return [_too_large()]


def _too_large() -> Failed:
    # If it does so with all, something else has taken the memory.
    return Broke(_("Memory ran out with this image alone."))
