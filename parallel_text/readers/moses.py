"""Read Moses' format: two files, whose lines belong together by their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import IO

from crosslens_metrics.messages import gettext as _
from parallel_text.config import Text
from parallel_text.problems import CorpusError, Problems
from parallel_text.readers.lines import lines_of
from parallel_text.readers.packed import opened


def read(text: Text, paths: tuple[Path, ...], problems: Problems) -> Iterator[tuple[str, str, str, int]]:
    names = (text.files[0], text.files[1])
    with opened(paths[0], names[0]) as english, opened(paths[1], names[1]) as other:
        yield from side_by_side(english, other, names, problems)


def side_by_side(
    english: IO[bytes], other: IO[bytes], names: tuple[str, str], problems: Problems
) -> Iterator[tuple[str, str, str, int]]:
    """Give the lines of two files in pairs, under the name of the English one.

    Raises
    ------
    CorpusError
        Where one has more lines than the other: no pair could be trusted then.
    """
    both = (lines_of(english, names[0], problems), lines_of(other, names[1], problems))
    for number, (left, right) in enumerate(zip_longest(*both), start=1):
        if left is None or right is None:
            longer = both[0] if right is None else both[1]
            count = number + sum(1 for _line in longer)
            counts = (count, number - 1) if right is None else (number - 1, count)
            raise CorpusError(
                _(
                    "%(english)s has %(english_lines)s lines, and %(other)s has %(other_lines)s. Lines belong together "
                    "by their numbers, so both must have as many."
                )
                % {"english": names[0], "english_lines": counts[0], "other": names[1], "other_lines": counts[1]}
            )
        if left[1] is not None and right[1] is not None:
            yield left[1], right[1], names[0], number
