"""Files of counters that survive a full disk."""

from __future__ import annotations

import os
from typing import Any

from prometheus_client.mmap_dict import MmapedDict

from research.inference.rules.disk_space import allocate

START_BYTES = 1 << 16


class PreallocatedFile(MmapedDict):
    """Allocates the file on the disk before mapping it, and whenever it grows.

    The library's file is sparse: on a full disk, the first count in a new page of it ends the process by SIGBUS. Here
    that count raises OSError.
    """

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        if not read_mode:
            with open(filename, "ab") as file:  # noqa: PTH123
                allocate(file.fileno(), max(START_BYTES, os.fstat(file.fileno()).st_size))
        super().__init__(filename, read_mode)

    def _init_value(self, key: str) -> None:
        # As much as the longest key may take; the library doubles the file as soon as it does not fit.
        needed = self._used + 4 * len(key) + 32
        capacity: Any = self._capacity
        while needed > capacity:
            capacity *= 2
        if capacity > self._capacity:
            allocate(self._f.fileno(), capacity)
        super()._init_value(key)
