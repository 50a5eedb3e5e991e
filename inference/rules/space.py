"""Room on the disk, taken before it is used."""

from __future__ import annotations

import os

_AT_ONCE = 1 << 20


def allocate(fd: int, size: int) -> None:
    """Let the file have `size` bytes, all of them on the disk, or raise OSError; what it has stays.

    Where the system cannot allocate (macOS), what is missing at the end is written; holes before it stay.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
        return
    while (end := os.fstat(fd).st_size) < size:
        os.pwrite(fd, bytes(min(size - end, _AT_ONCE)), end)
