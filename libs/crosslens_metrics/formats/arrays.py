"""Read NumPy archives (.npz) without trusting what they say of themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.formats import limits
from crosslens_metrics.messages import gettext as _

SUFFIX = ".npy"
NUMBER_BYTES, TEXT_BYTES = 8, 64
"""What an element takes at least once it was converted."""

HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class ArchiveRefusedError(ValueError):
    """An archive has no arrays that can be read, or they would take more memory than its size explains."""


class ArchiveArrays(Mapping[str, NDArray[Any]]):
    """The arrays of an archive by name. Each is read when it is asked for."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._entries = {
            entry.filename.removesuffix(SUFFIX): entry
            for entry in archive.infolist()
            if entry.filename.endswith(SUFFIX)
        }

    def __getitem__(self, name: str) -> NDArray[Any]:
        with self._archive.open(self._entries[name]) as file:
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
            return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def memory_bytes(self) -> int:
        """How much memory all of them take, as their headers say."""
        return sum(map(self._memory_bytes, self))

    def _memory_bytes(self, name: str) -> int:
        entry = self._entries[name]
        with self._archive.open(entry) as file:
            version = np.lib.format.read_magic(file)
            if version not in HEADERS:
                raise ArchiveRefusedError(_("The format of “%(name)s” is not supported.") % {"name": name})
            shape, _is_by_column, dtype = HEADERS[version](file)
        count = math.prod(shape)
        if count * dtype.itemsize > entry.file_size:
            raise ArchiveRefusedError(_("“%(name)s” is cut off.") % {"name": name})
        return count * max(dtype.itemsize, TEXT_BYTES if dtype.kind in "US" else NUMBER_BYTES)


@contextmanager
def opened_arrays(file: Path | IO[bytes]) -> Iterator[ArchiveArrays]:
    """Open an archive, unless its arrays would take more memory than its size explains.

    Raises ArchiveRefusedError. Raises ValueError, RuntimeError, EOFError, zlib.error or zipfile.BadZipFile: the archive
    is broken, or locked; also while arrays are read.
    """
    with ZipFile(file) as archive:
        arrays = ArchiveArrays(archive)
        packed_bytes = sum(entry.compress_size for entry in archive.infolist())
        limit = max(limits.UNPACKED_WORTH_A_LOOK_BYTES, limits.MAX_ARRAYS_RATIO * packed_bytes)
        if arrays.memory_bytes() > limit:
            raise ArchiveRefusedError(
                _("It would unpack to more than %(limit)s times its size, so it is not a file of arrays.")
                % {"limit": limits.MAX_ARRAYS_RATIO}
            )
        yield arrays
