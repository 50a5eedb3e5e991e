"""Read lines of an English sentence, a tab, and its translation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from crosslens_metrics.messages import gettext as _
from parallel_text.config import Text
from parallel_text.problems import Problems
from parallel_text.readers.lines import lines_of
from parallel_text.readers.packed import opened


def read(text: Text, paths: tuple[Path, ...], problems: Problems) -> Iterator[tuple[str, str, str, int]]:
    [name], [path] = text.files, paths
    with opened(path, name) as file:
        for number, line in lines_of(file, name, problems):
            if line is None:
                continue
            cells = line.split("\t")
            if len(cells) == 2:
                yield cells[0], cells[1], name, number
            elif line and not line.isspace():
                message = _("The line has %(count)s columns. Write the English sentence, a tab and its translation.")
                problems.add("wrong_columns", message % {"count": len(cells)}, file=name, line=number)
            else:
                problems.add("empty_line", _("Both sentences are empty."), file=name, line=number)
