"""The images of a run in groups, prepared ahead in threads: across the borders of chunks, with bounded memory."""

from __future__ import annotations

import logging
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from inference.backends.captioners import Failed
from inference.models import Chunk
from inference.services.image_reading import UnreadableImageError, picture_of
from inference.services.job_kind import Made, PendingImage, Work
from inference.services.model_batches import Broke, where_it_broke

log = logging.getLogger(__name__)

THREADS = min(8, os.cpu_count() or 2)
GROUPS_AHEAD = 2
"""Prepared while the device computes: one to go on with at once, and one in case it takes long to read."""


@dataclass(eq=False)
class Held:
    """A chunk in this worker's hands."""

    chunk: Chunk
    items: deque[PendingImage]
    left: int
    """Parts of its items that are not through."""
    is_careful: bool = False
    """One image at a time, stored at once: a batch of this chunk ended a worker, and one image may be to blame."""
    unstored: list[Made] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    where: str = ""
    """The traceback of the first image with which the model broke."""
    is_lost: bool = False


@dataclass(eq=False)
class Group:
    """Images that are computed together, part by part, while what was prepared of them is at hand."""

    held: Held
    items: list[PendingImage]
    prepared: list[Future[Any]]


class Feed:
    """Groups of at most `size` images, from the chunks that `claim` gives."""

    def __init__(self, work: Work, threads: ThreadPoolExecutor, claim: Callable[[], Held | None]) -> None:
        self._work, self._threads, self._claim = work, threads, claim
        self._ahead: deque[Group] = deque()
        self._is_dry = False
        self.held: list[Held] = []
        self.size = 1

    def groups(self) -> Iterator[Group]:
        while True:
            self._fill()
            if not self._ahead:
                return
            group = self._ahead.popleft()
            if not group.held.is_lost:
                if not group.held.is_careful:
                    self._fill()
                yield group

    def _fill(self) -> None:
        while len(self._ahead) < GROUPS_AHEAD and (held := self._with_items()) is not None:
            if held.is_careful and self._ahead:
                return
            size = 1 if held.is_careful else self.size
            items = [held.items.popleft() for _ in range(min(size, len(held.items)))]
            self._ahead.append(Group(held, items, [self._threads.submit(self._prepare, item) for item in items]))

    def _with_items(self) -> Held | None:
        for held in self.held:
            if held.items and not held.is_lost:
                return held
        # While an image is looked for that ends workers, no other chunk is in hand that could be blamed for it.
        if self._is_dry or any(held.is_careful for held in self.held):
            return None
        held_next = self._claim()
        if held_next is None:
            self._is_dry = True
        else:
            self.held.append(held_next)
        return held_next

    def _prepare(self, item: PendingImage) -> Any:
        """In a thread of the pool; what cannot be prepared fails alone."""
        if item.refused:
            return Failed(item.refused)
        try:
            picture = picture_of(item, side=self._work.side) if item.picture else None
            return self._work.prepare(item, picture)
        except UnreadableImageError as broken:
            return Failed(str(broken))
        except Exception as error:
            log.exception("Image %s", item.key)
            said = _("The model cannot take it (%(error)s).") % {"error": type(error).__name__}
            return Broke(said, where_it_broke(error))
