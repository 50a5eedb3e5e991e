"""Allocate space on the disk before it is used."""

from __future__ import annotations

import os

_AT_ONCE = 1 << 20


def allocate(fd: int, size: int) -> None:
    """Give the file `size` bytes that are all on the disk, or raise OSError. Its content stays.

    Where the system cannot allocate (macOS), zeros are written at its end; holes before it stay.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
        return
    while (end := os.fstat(fd).st_size) < size:
        os.pwrite(fd, bytes(min(size - end, _AT_ONCE)), end)
