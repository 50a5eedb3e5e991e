"""Files of counters that survive a full disk, and a small number for each process that counts into one."""

from __future__ import annotations

import fcntl
import os
from itertools import count
from pathlib import Path
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


class ProcessNumbers:
    """Numbers of the processes that count into files of one folder, in which numbers are used again.

    A process id would leave a file behind for every process that ever was, and two containers have the same ids. The
    lock on a slot's file ends with its process, however that ends; the next owner of the slot continues counting.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owner = 0
        self._file = -1
        self._number = 0

    def number(self) -> int:
        """Return the number of this process: the same at each call, another one after a fork."""
        if self._owner != os.getpid():
            self._take()
        return self._number

    def _take(self) -> None:
        of_parent = self._file
        for number in count():
            file = os.open(self._folder / f"slot_{number}", os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                continue
            self._file, self._number, self._owner = file, number, os.getpid()
            break
        if of_parent >= 0:
            # Only now: this may be the last lock of a dead parent on its slot, and getting the same number again would
            # hide the fork from the counters.
            os.close(of_parent)
