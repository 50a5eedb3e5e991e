"""Read Moses' format: two files, whose lines belong together by their numbers, and OPUS' third file with their ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import IO

from crosslens_metrics.messages import gettext as _
from parallel_text.config import ENGLISH, Text
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.readers.lines import lines_of
from parallel_text.readers.packed import opened
from parallel_text.readers.sentences import SentencePair
from parallel_text.readers.tags import is_of


def read(text: Text, paths: tuple[Path, ...], problems: LineProblems) -> Iterator[SentencePair]:
    with ExitStack() as stack:
        files = [stack.enter_context(opened(path, name)) for path, name in zip(paths, text.files, strict=True)]
        yield from side_by_side(files, text.files, problems)


def side_by_side(files: Sequence[IO[bytes]], names: Sequence[str], problems: LineProblems) -> Iterator[SentencePair]:
    """Give the lines of the English file and the other one in pairs; a third file has their ids.

    Raises
    ------
    CorpusError
        Where one has more lines than the English file: no pair could be trusted then.
    """
    all_lines = [lines_of(file, name, problems) for file, name in zip(files, names, strict=True)]
    for number, lines in enumerate(zip_longest(*all_lines), start=1):
        if None in lines:
            both = zip(lines, all_lines, strict=True)
            raise _unequal(names, [number - (line is None) + sum(1 for _line in left) for line, left in both])
        (_one, english), (_two, other), *named = lines
        if english is not None and other is not None:
            yield SentencePair(english, other, names[0], number, number, _id_of(named[0][1] or "") if named else "")


def _id_of(line: str) -> str:
    """Return the English document and its sentences of a line of OPUS, which has two documents, then their sentences.

    Any other line is an id by itself.
    """
    cells = line.split("\t")
    if len(cells) != 4:
        return line
    one, other = (is_of(document.partition("/")[0], ENGLISH) for document in cells[:2])
    side = int(other and not one)
    return f"{cells[side]}\t{cells[2 + side]}"


def _unequal(names: Sequence[str], counts: Sequence[int]) -> CorpusError:
    other = next(place for place, count in enumerate(counts) if count != counts[0])
    return CorpusError(
        _(
            "%(english)s has %(english_lines)s lines, and %(other)s has %(other_lines)s. Lines belong together "
            "by their numbers, so both must have as many."
        )
        % {"english": names[0], "english_lines": counts[0], "other": names[other], "other_lines": counts[other]}
    )
