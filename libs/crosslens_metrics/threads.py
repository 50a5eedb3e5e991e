"""Parts of a sum side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def side_by_side(function: Callable[[Part], Result], parts: Iterable[Part], *, workers: int) -> Iterator[Result]:
    """`map` in threads: numpy leaves Python to others while it sorts and counts.

    At most `workers` parts are processed at a time, which bounds the memory.
    """
    if workers < 1:
        raise ValueError(f"{workers} workers cannot do anything: give 1 or more.")
    parts = iter(parts)
    if workers == 1:
        yield from map(function, parts)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(function, part) for part in islice(parts, workers)]
        while waiting:
            result = waiting.pop(0).result()
            waiting += [pool.submit(function, part) for part in islice(parts, 1)]
            yield result
