"""Annotators who work without pause, and who keep trying as their browsers do; what was confirmed to them is noted."""

from __future__ import annotations

import http.client
import re
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tools.deploy.trial.browser import TrialBrowser
from tools.deploy.trial.log import FailedError, TrialLog

T = TypeVar("T")
BATCH = re.compile(r"/batches/([0-9a-f-]{36})/")
REVISION = re.compile(r'name="revision"\s+value="(\d+)"')
PAUSE_S, RETRY_S, PATIENCE_S = 1, 0.5, 180
UNAVAILABLE = re.compile(r": (5\d\d|409) instead of ")
"""The server is away, or a try whose answer was lost has saved it already."""
PASSING = (OSError, ssl.SSLError, http.client.HTTPException)


@dataclass
class TrialAnnotator:
    name: str
    browser: TrialBrowser
    round: int
    texts: list[str] = field(default_factory=list)
    """Captions whose saving was confirmed."""
    batches: list[str] = field(default_factory=list)
    """Handed in, and told so."""
    saves: list[tuple[float, float]] = field(default_factory=list)
    """When each was confirmed, and how long that took, tries that failed included."""
    failures: int = 0

    def whole_batch(self) -> bool:
        """Take a batch, rate it, describe its images, hand it in; False where nothing is left."""
        taken = BATCH.search(self._again(lambda: self.browser.post(f"/rounds/{self.round}/take/", {}).location))
        if taken is None:
            return False
        batch = f"/batches/{taken[1]}"
        page = self._again(lambda: self._stage(batch, "rate"))
        positions = sorted({int(number) for number in re.findall(r'name="rating-(\d+)"', page)})
        for position in positions:
            rating = {"rating": "GOOD", "active_ms": "900"}
            self._again(lambda: self.browser.post(f"{batch}/rate/{position}/", rating, expected=200))  # noqa: B023
        if positions:
            self._again(lambda: self.browser.post(f"{batch}/write/open/", {}))
        for position in positions:
            text = f"Mbwa mdogo anakimbia karibu na mpira, picha {position} ya {taken[1]}."
            began = time.monotonic()
            self._again(lambda: self._write(batch, position, text))  # noqa: B023
            self.saves.append((time.monotonic(), time.monotonic() - began))
            self.texts.append(text)
            time.sleep(PAUSE_S)
        self._again(lambda: self._submit(batch))
        self.batches.append(taken[1])
        return True

    def _stage(self, batch: str, stage: str) -> str:
        return self.browser.get(f"{batch}/{stage}/").text

    def _write(self, batch: str, position: int, text: str) -> None:
        path = f"{batch}/write/{position}/"
        revision = REVISION.search(self.browser.get(path).text)
        fields = {"text": text, "revision": revision[1] if revision else "0", "active_ms": "2000", "go": "following"}
        self.browser.post(path, fields)

    def _submit(self, batch: str) -> None:
        """A try whose answer was lost may have succeeded: then the batch says that it is done."""
        where = self.browser.post(f"{batch}/submit/", {}).location
        if not where.endswith("/done/"):
            self.browser.get(f"{batch}/done/")

    def _again(self, action: Callable[[], T]) -> T:
        """Try until it succeeds: what a server that is away answers passes."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                return action()
            except (*PASSING, FailedError) as error:
                if isinstance(error, FailedError) and not UNAVAILABLE.search(str(error)):
                    raise
                self.failures += 1
                if time.monotonic() > until:
                    raise FailedError(f"{self.name} was refused for {PATIENCE_S} s: {error}") from error
                time.sleep(RETRY_S)


class AnnotatorCrowd:
    """Annotators at work, each in a thread, until the block ends."""

    def __init__(self, log: TrialLog, annotators: Sequence[TrialAnnotator]) -> None:
        self.log, self.annotators = log, annotators
        self.errors: list[str] = []
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(each,), daemon=True) for each in annotators]

    def __enter__(self) -> AnnotatorCrowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _work(self, annotator: TrialAnnotator) -> None:
        try:
            while not self._stopped.is_set():
                if not annotator.whole_batch():
                    self.log.say(f"Nothing is left for {annotator.name}.")
                    return
        except (FailedError, *PASSING) as error:
            self.errors.append(f"{annotator.name}: {error}")
            self.log.say(f"{annotator.name} gave up: {error}")

    def saves_since(self, moment: float) -> list[float]:
        """How long each save took that was confirmed after `moment`."""
        return [took for each in self.annotators for when, took in list(each.saves) if when > moment]

    def wait_for_saves(self, count: int, *, since: float, limit_s: float) -> float:
        """Until so many more were confirmed; returns how long that took."""
        until = time.monotonic() + limit_s
        while len(self.saves_since(since)) < count:
            if self.errors:
                raise FailedError("; ".join(self.errors))
            if time.monotonic() > until:
                raise FailedError(f"Fewer than {count} captions were saved in {limit_s:.0f} s.")
            time.sleep(0.2)
        return time.monotonic() - since
