"""Whether images or the model are to blame where a model crashes again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.utils.translation import gettext as _

from research.inference.backends.captioners import FailedImage
from research.inference.models import Run
from research.inference.services.job_kind import CrashedImage, JobKind, PartOutcome, PendingImage
from research.inference.services.prefetcher import ImageBatch

CRASH_LIMIT = 8
"""After so many images in a row with which the model crashed, the model is to blame and not the images, unless it still
takes one that it took before, or one of those that were not tried yet."""
UNTRIED = 3
"""How many of these it is asked for."""


class RunFailedError(Exception):
    """The run as a whole cannot continue; the message says why, the traceback where."""

    def __init__(self, message: str, traceback: str) -> None:
        super().__init__(message)
        self.traceback = traceback


class CrashBlame:
    """What a run's model took and where it crashed.

    `takes` asks it for a part of a prepared image; `untried` lists images that were not tried yet, of so many chunks at
    most.
    """

    def __init__(
        self,
        run: Run,
        job_kind: JobKind,
        *,
        takes: Callable[[PendingImage, Any, str], bool],
        prepare: Callable[[PendingImage], Any],
        untried: Callable[[int], Iterable[PendingImage]],
    ) -> None:
        self._job_kind, self._takes, self._prepare, self._untried = job_kind, takes, prepare, untried
        self.has_succeeded = run.done > 0
        self.is_asking = False
        self.crashed_ids: set[int] = set()
        """In a row."""
        self._last_good: tuple[PendingImage, Any, str] | None = None

    def record(self, outcomes: Iterable[PartOutcome]) -> None:
        """Raises RunFailedError after too many crashes in a row, if the model is to blame."""
        for outcome in outcomes:
            if isinstance(outcome.result, CrashedImage):
                self.crashed_ids.add(outcome.image.image_id)
                if len(self.crashed_ids) >= CRASH_LIMIT:
                    self.refuse_model_that_fails(outcome.result)
            elif not isinstance(outcome.result, FailedImage):
                self._works()

    def remember_good(self, batch: ImageBatch, outcomes: Sequence[PartOutcome]) -> None:
        good = next((outcome for outcome in outcomes if not isinstance(outcome.result, FailedImage)), None)
        if good is not None:
            prepared = batch.prepared[batch.images.index(good.image)].result()
            self._last_good = good.image, prepared, good.part

    def refuse_model_that_fails(self, last: CrashedImage) -> None:
        """Raises RunFailedError unless the model takes what it took before: then the images were to blame after all."""
        if not self._still_works():
            message = _("The model failed on every image. %(reason)s The log below has the traceback.")
            raise RunFailedError(message % {"reason": last.reason}, last.traceback)
        self._works()

    def _works(self) -> None:
        self.crashed_ids.clear()
        self.has_succeeded = True

    def _still_works(self) -> bool:
        self.is_asking = True
        try:
            # A retry may begin with nothing but images that are broken.
            self._last_good = self._last_good or self._proven()
            if self._last_good is not None:
                return self._takes(*self._last_good)
            self._last_good = self._new_good()
            return self._last_good is not None
        finally:
            self.is_asking = False

    def _proven(self) -> tuple[PendingImage, Any, str] | None:
        found = self._job_kind.proven()
        if found is None:
            return None
        image, part = found
        prepared = self._prepare(image)
        return None if isinstance(prepared, FailedImage) else (image, prepared, part)

    def _new_good(self) -> tuple[PendingImage, Any, str] | None:
        """Find an image that the model takes among those not tried yet."""
        for image in [image for image in self._untried(UNTRIED) if image.image_id not in self.crashed_ids][:UNTRIED]:
            prepared = self._prepare(image)
            if not isinstance(prepared, FailedImage) and self._takes(image, prepared, image.parts[0]):
                return image, prepared, image.parts[0]
        return None
