"""Translate rows of texts in slices of time: what they all share. A worker that dies loses one batch at most."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import wait
from time import monotonic
from traceback import format_exception
from typing import Any, TypeVar

from django.db import DatabaseError
from django.utils.translation import gettext as _

from core.jobs.services import leases
from core.jobs.services.leases import LeaseLostError
from research.inference.backends.captioners import Decoding, LoadedTranslator
from research.inference.services import model_cache, tracebacks
from research.inference.services.chunks import RENEW_EVERY_S
from research.inference.services.executor import Clock
from research.inference.services.job_kind import RUN_ERRORS
from research.inference.services.model_cache import DeviceThread

log = logging.getLogger(__name__)

Result = TypeVar("Result")

ALONE_AFTER, SKIPPED_AFTER, MAX_ATTEMPTS = 2, 4, 6
"""After so many attempts in which the worker died: texts one by one, then without the one at which it died, then
none."""
GIVEN_UP_AFTER = 32
"""Captions that could not be translated, if none could."""


class TranslationFailedError(Exception):
    """The translation cannot continue; the message says why."""

    def __init__(self, message: str, traceback: str = "") -> None:
        super().__init__(message)
        self.traceback = traceback


class TranslationSlice:
    """One worker's slice of time on one row, a claimed job with a translator and what it said of itself."""

    def __init__(
        self, row: Any, clock: Clock, slice_s: float, *, language: str, decoding: Decoding, writes: str = ""
    ) -> None:
        self.row, self.clock, self._slice_s = row, clock, slice_s
        self.tag, self.decoding, self._writes = language, decoding, writes or language

    def begin(self) -> None:
        """Check that there is something to do."""

    def next_texts(self, size: int) -> Any:
        """Read about as many texts as the translator takes at once; nothing at the end."""
        raise NotImplementedError

    def translate(self, translation: LoadedTranslator, texts: Any) -> None:
        """Translate and store."""
        raise NotImplementedError

    def finish(self) -> None:
        self.end()

    def execute(self) -> bool:
        """Return whether there is more to do."""
        try:
            if self.row.attempts > MAX_ATTEMPTS:
                message = _("The worker died %(count)s times at this translation.")
                raise TranslationFailedError(message % {"count": self.row.attempts - 1})
            self.begin()
            if not self.next_texts(1):
                self.finish()
                return False
            translation = self._load()
            ends_at = monotonic() + self._slice_s
            while texts := self.next_texts(1 if self.row.attempts > ALONE_AFTER else translation.batch_size):
                self.translate(translation, texts)
                if monotonic() >= ends_at:
                    leases.queue_again(self.row)
                    return True
            self.finish()
        except TranslationFailedError as failed:
            self.end(error=str(failed), traceback=tracebacks.shown_traceback(failed.traceback))
        except RUN_ERRORS as error:
            self.end(error=str(error))
        return False

    def end(self, **about: Any) -> None:
        leases.finish_row(self.row, now=self.clock(), **about)

    def renew(self, **values: Any) -> None:
        self.row.lease_until = leases.renewed_lease(self.row, now=self.clock(), **values)

    def meanwhile(self, compute: Callable[[], Result]) -> Result:
        """Compute in the thread of models, while this one renews the lease."""
        with DeviceThread() as device:
            result = device.submit(compute)
            while not wait([result], timeout=RENEW_EVERY_S).done:
                self.renew()
        return result.result()

    def _load(self) -> LoadedTranslator:
        try:
            translation = self.meanwhile(lambda: model_cache.translation(self.row.translator))
            check_length = getattr(translation, "check_length", None)
            if check_length is not None:
                check_length([self._writes], self.decoding)
        except (DatabaseError, LeaseLostError, *RUN_ERRORS):
            raise
        except Exception as error:
            log.exception("%s: the translator was not loaded.", self.row)
            message = _("The translator cannot be loaded (%(error)s). The traceback is below.")
            raise TranslationFailedError(
                message % {"error": type(error).__name__}, "".join(format_exception(error))
            ) from error
        self.row.described = dict(translation.describe())
        self.renew(described=self.row.described)
        return translation


def usage_of(translation: LoadedTranslator) -> tuple[int, int]:
    """Read how many tokens an endpoint has counted since the last time."""
    take: Callable[[], tuple[int, int]] | None = getattr(translation, "take_usage", None)
    return (0, 0) if take is None else take()
