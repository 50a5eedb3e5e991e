"""Read lines of an English sentence, a tab, and its translation; a third column can have ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from crosslens_metrics.messages import gettext as _
from parallel_text.config import ENGLISH, Text
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.readers.lines import lines_of
from parallel_text.readers.packed import opened
from parallel_text.readers.sentences import SentencePair
from parallel_text.readers.tags import is_of

ID = "id"
LOOKS_LIKE_ID = re.compile(r"\s*(?=\S*\d|\S+[/_.:#]\S)\S+\s*")
"""One word with a digit, or with a sign inside it: a third column of other words, such as a licence, has no ids."""


def read(text: Text, paths: tuple[Path, ...], problems: LineProblems) -> Iterator[SentencePair]:
    [name], [path] = text.files, paths
    places: Sequence[int] | None = None
    with opened(path, name) as file:
        for number, line in lines_of(file, name, problems):
            if line is None:
                continue
            cells = line.split("\t")
            if number == 1 and (places := _named(cells, text.language, name)):
                continue
            if places and len(cells) > max(places):
                english, other, named = (cells[place] for place in places)
                yield SentencePair(english, other, name, number, number, named)
            elif not places and (pair := _unnamed(cells)):
                english, other, named = pair
                yield SentencePair(english, other, name, number, number, named)
            elif line and not line.isspace():
                message = _("The line has %(count)s columns. Write the English sentence, a tab and its translation.")
                problems.add("wrong_columns", message % {"count": len(cells)}, file=name, line=number)
            else:
                problems.add("empty_line", _("Both sentences are empty."), file=name, line=number)


def _named(cells: Sequence[str], language: str, file: str) -> tuple[int, int, int] | None:
    """Return the columns of English, the other language and the ids, if this line names them."""
    names = [cell.strip().lower() for cell in cells]
    if ID not in names or len(names) < 3:
        return None
    english = next((place for place, name in enumerate(names) if name == "english" or is_of(name, ENGLISH)), None)
    other = next((place for place, name in enumerate(names) if name == "other" or is_of(name, language)), None)
    if english is None or other is None:
        message = _("%(file)s, line 1: name the columns id, en and %(tag)s.")
        raise CorpusError(message % {"file": file, "tag": language})
    return english, other, names.index(ID)


def _unnamed(cells: list[str]) -> tuple[str, str, str] | None:
    """Return English, the other language and the id, which stands in the first or the last of three columns."""
    if len(cells) == 2:
        return cells[0], cells[1], ""
    if len(cells) == 3 and LOOKS_LIKE_ID.fullmatch(cells[0]):
        return cells[1], cells[2], cells[0]
    if len(cells) == 3 and LOOKS_LIKE_ID.fullmatch(cells[2]):
        return cells[0], cells[1], cells[2]
    return None
