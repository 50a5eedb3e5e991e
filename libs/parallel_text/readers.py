"""Read parallel text of the formats in which it is distributed.

References
----------
J. Tiedemann (2012), Parallel Data, Tools and Interfaces in OPUS, LREC. https://opus.nlpl.eu
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, Protocol
from zipfile import ZipFile, ZipInfo

from crosslens_metrics.messages import gettext as _
from parallel_text.config import ENGLISH, Text
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.sentences import (
    BadSentenceError,
    SentencePair,
    clean,
    faults_of,
    is_of,
    limited_reader,
    lines_of,
    opened,
)
from parallel_text.tmx import read_tmx

MAX_ENTRIES = 1_000
LOCKED = 0x1
ID = "id"
LOOKS_LIKE_ID = re.compile(r"\s*(?=\S*\d|\S+[/_.:#]\S)\S+\s*")
"""One word with a digit, or with a sign inside it: a third column of other words, such as a licence, has no ids."""


def read_moses(text: Text, paths: tuple[Path, ...], problems: LineProblems) -> Iterator[SentencePair]:
    """Read Moses' format: two files whose lines belong together by number, and OPUS' third one with their ids."""
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


def read_opus(text: Text, paths: tuple[Path, ...], problems: LineProblems) -> Iterator[SentencePair]:
    """Read a zip file of OPUS: NAME.en-es.en and NAME.en-es.es of Moses' format, and NAME.en-es.ids."""
    [name], [path] = text.files, paths
    with faults_of(name), ZipFile(path) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES:
            raise CorpusError(
                _("%(file)s has more than %(limit)s files inside, so it is not from OPUS.")
                % {"file": name, "limit": MAX_ENTRIES}
            )
        pairs = list(_pairs(entries, text.language))
        if not pairs:
            inside = ", ".join(entry.filename for entry in entries[:5])
            raise CorpusError(
                _(
                    "%(file)s does not contain the two files NAME.en and NAME.%(tag)s of Moses' format. It contains: "
                    "%(inside)s. "
                    "Download the corpus from OPUS in the format “moses”."
                )
                % {"file": name, "tag": text.language, "inside": inside}
            )
        for together in pairs:
            if any(entry.flag_bits & LOCKED for entry in together):
                raise CorpusError(_("%(file)s is locked with a password. Make it without one.") % {"file": name})
            names = [f"{name}/{entry.filename}" for entry in together]
            with ExitStack() as stack:
                files = [
                    limited_reader(stack.enter_context(archive.open(entry)), inside, packed_bytes=entry.compress_size)
                    for entry, inside in zip(together, names, strict=True)
                ]
                yield from side_by_side(files, names, problems)


def _pairs(entries: list[ZipInfo], language: str) -> Iterator[list[ZipInfo]]:
    """Give the English file, the other one, and that of the ids if it is there."""
    for english in sorted(entries, key=lambda entry: entry.filename):
        stem, _dot, tag = english.filename.rpartition(".")
        if not is_of(tag, ENGLISH):
            continue
        of_stem = [entry for entry in entries if entry.filename.rpartition(".")[0] == stem]
        others = [entry for entry in of_stem if is_of(entry.filename.rpartition(".")[2], language)]
        if others:
            # The tag itself comes before those of its regions.
            other = min(others, key=lambda entry: len(entry.filename))
            yield [english, other, *(entry for entry in of_stem if entry.filename == f"{stem}.ids")]


def read_tsv(text: Text, paths: tuple[Path, ...], problems: LineProblems) -> Iterator[SentencePair]:
    """Read lines of an English sentence, a tab, and its translation; a third column can have ids."""
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


class _PairReader(Protocol):
    def __call__(self, text: Text, paths: tuple[Path, ...], problems: LineProblems) -> Iterator[SentencePair]: ...


READERS: dict[str, _PairReader] = {"moses": read_moses, "opus": read_opus, "tmx": read_tmx, "tsv": read_tsv}


def read_pairs(text: Text, path_of: Callable[[str], Path], problems: LineProblems) -> Iterator[SentencePair]:
    """Read the pairs of a text one by one, never more than a few in memory.

    Parameters
    ----------
    text : Text
    path_of : callable
        Gives the path of a file of `text.files`.
    problems : LineProblems
        Pairs that are left out are added to it.

    Yields
    ------
    SentencePair
        Both sentences as `clean` makes them.

    Raises
    ------
    CorpusError
        Where a file cannot be read as a whole.
    """
    paths = tuple(path_of(name) for name in text.files)
    for pair in READERS[text.format](text, paths, problems):
        place: dict[str, Any] = {"file": pair.file, "line": pair.line}
        try:
            english, other = clean(pair.english), clean(pair.other)
        except BadSentenceError as error:
            problems.add(error.kind, str(error), **place)
            continue
        if english and other:
            yield pair._replace(english=english, other=other, id=pair.id.strip())
        elif english or other:
            side = text.language if english else "en"
            problems.add("empty_side", _("The sentence in “%(tag)s” is empty.") % {"tag": side}, **place)
        else:
            problems.add("empty_line", _("Both sentences are empty."), **place)


def no_pairs(text: Text, problems: LineProblems) -> CorpusError:
    """Say that a text has no pair that could be used, and what was wrong with the first line."""
    message = _(
        "%(file)s: no pair of English and “%(tag)s” can be used. Check its language and format (%(format)s)."
    ) % {
        "file": text.files[0],
        "tag": text.language,
        "format": text.format,
    }
    first = min(
        (example for examples in problems.examples.values() for example in examples),
        key=lambda one: one.line,
        default=None,
    )
    if first is not None:
        message += " " + _("Line %(number)s: %(message)s") % {"number": first.line, "message": first.message}
    return CorpusError(message)
