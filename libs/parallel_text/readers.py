"""Read parallel text of the formats in which it is distributed.

References
----------
J. Tiedemann (2012), Parallel Data, Tools and Interfaces in OPUS, LREC. https://opus.nlpl.eu
LISA OSCAR (2005), TMX 1.4b Specification.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from io import BytesIO, TextIOWrapper
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, Protocol
from xml.parsers import expat
from zipfile import ZipFile, ZipInfo

from crosslens_metrics.messages import gettext as _
from parallel_text.config import ENGLISH, Text
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.sentences import (
    BROKEN,
    MAX_SENTENCE_CHARACTERS,
    BadSentenceError,
    SentencePair,
    clean,
    faults_of,
    is_of,
    limited_reader,
    lines_of,
    opened,
)

MAX_ENTRIES = 1_000
LOCKED = 0x1
ID = "id"
LOOKS_LIKE_ID = re.compile(r"\s*(?=\S*\d|\S+[/_.:#]\S)\S+\s*")
"""One word with a digit, or with a sign inside it: a third column of other words, such as a licence, has no ids."""

READ_BYTES = 1 << 16
MAX_TAG_BYTES, MAX_VARIANTS = 10**6, 1_000
"""Of a tag or comment, and sentences of one unit. Translation memories have 50 languages at most."""
DECLARED = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
CODES = {"bpt", "ept", "it", "ph", "ut"}
"""Elements of a segment that hold codes of a program, and no text."""


def read_tmx(text: Text, paths: tuple[Path, ...], problems: LineProblems) -> Iterator[SentencePair]:
    """Read TMX 1.4, translation memories in XML, piece by piece."""
    [name], [path] = text.files, paths
    with opened(path, name) as file:
        for number, (line, name_of_unit, variants) in enumerate(_units(file, name), start=1):
            # Regions of a language may say the same.
            english = dict.fromkeys(segment for tag, segment in variants if is_of(tag, ENGLISH))
            others = dict.fromkeys(segment for tag, segment in variants if is_of(tag, text.language))
            if not english or not others:
                missing = text.language if english else ENGLISH
                message = _("The unit (tu) has no sentence in “%(tag)s”.") % {"tag": missing}
                problems.add("no_language", message, file=name, line=line)
            for left in english:
                for right in others:
                    yield SentencePair(left, right, name, line, number, name_of_unit)


def _units(file: IO[bytes], name: str) -> Iterator[tuple[int, str, list[tuple[str, str]]]]:
    """Give the line at which each unit begins, its tuid, and its sentences with their tags."""
    units = _UnitParser(name)
    read_bytes = 0
    try:
        for part in _decoded(file, name):
            units.parser.Parse(part, False)
            read_bytes += len(part.encode())
            # What the parser waits for the end of, it has in memory.
            if read_bytes - units.parser.CurrentByteIndex > MAX_TAG_BYTES:
                raise units.refused(_("a tag or comment has more than %(limit)s bytes") % {"limit": MAX_TAG_BYTES})
            yield from units.take()
        units.parser.Parse("", True)
        yield from units.take()
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise CorpusError(
            _("%(file)s, line %(line)s: this is not well-formed XML (%(reason)s), so nothing after it can be read.")
            % {"file": name, "line": error.lineno, "reason": reason}
        ) from error


def _decoded(file: IO[bytes], name: str) -> Iterator[str]:
    """Decode here and not in the parser, which reads nothing after a broken character."""
    data = file.read(READ_BYTES)
    decoder = codecs.getincrementaldecoder(_encoding(data, name))("replace")
    while data:
        yield NOT_XML.sub(BROKEN, decoder.decode(data))
        data = file.read(READ_BYTES)
    yield decoder.decode(b"", True)


def _encoding(start: bytes, name: str) -> str:
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    declared = DECLARED.match(start.removeprefix(codecs.BOM_UTF8))
    encoding = declared[1].decode() if declared else "utf-8"
    try:
        TextIOWrapper(BytesIO(), encoding)  # refuses codecs that are not of texts
        found = codecs.lookup(encoding)
    except LookupError as error:
        raise CorpusError(
            _("%(file)s says that its encoding is “%(encoding)s”, which is unknown. Save it as UTF-8.")
            % {"file": name, "encoding": encoding}
        ) from error
    return "utf-8-sig" if found.name == "utf-8" else found.name


class _UnitParser:
    """Gathers the units that the parser meets."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._done: list[tuple[int, str, list[tuple[str, str]]]] = []
        self._variants: list[tuple[str, str]] = []
        self._line = self._code_depth = self._length = 0
        self._tag = self._id = ""
        self._text: list[str] | None = None
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._refuse_entity
        self.parser.SkippedEntityHandler = self._mark_unknown

    def take(self) -> list[tuple[int, str, list[tuple[str, str]]]]:
        done, self._done = self._done, []
        return done

    def refused(self, reason: str) -> CorpusError:
        about = {"file": self._name, "line": self.parser.CurrentLineNumber, "reason": reason}
        return CorpusError(_("%(file)s, line %(line)s: %(reason)s, so it is not a translation memory.") % about)

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        if element == "tu":
            self._line, self._id, self._variants = self.parser.CurrentLineNumber, attributes.get("tuid", ""), []
        elif element == "tuv":
            self._tag = attributes.get("xml:lang") or attributes.get("lang") or ""
        elif element == "seg":
            self._text, self._length = [], 0
        elif element in CODES:
            self._code_depth += 1

    def _end(self, element: str) -> None:
        if element == "tu":
            self._done.append((self._line, self._id, self._variants))
        elif element == "seg" and self._text is not None:
            self._variants.append((self._tag, "".join(self._text)))
            self._text = None
            if len(self._variants) > MAX_VARIANTS:
                raise self.refused(_("a unit (tu) has more than %(limit)s sentences") % {"limit": MAX_VARIANTS})
        elif element in CODES:
            self._code_depth -= 1

    def _characters(self, data: str) -> None:
        # One piece past the limit is enough to see that a sentence is too long.
        if self._text is not None and not self._code_depth and self._length <= MAX_SENTENCE_CHARACTERS:
            self._text.append(data)
            self._length += len(data)

    def _mark_unknown(self, _entity: str, _is_parameter: bool) -> None:
        """Let a sentence count as broken whose character is defined in another file, which is not read."""
        self._characters(BROKEN)

    def _refuse_entity(self, entity: str, *_about: object) -> None:
        raise CorpusError(
            _(
                "%(file)s, line %(line)s: it defines the entity “%(entity)s”. Remove it: entities can make a file "
                "grow without limit."
            )
            % {"file": self._name, "line": self.parser.CurrentLineNumber, "entity": entity[:40]}
        )


def read_moses(text: Text, paths: tuple[Path, ...], problems: LineProblems) -> Iterator[SentencePair]:
    """Read Moses' format: two files whose lines belong together by number, and OPUS' third one with their ids."""
    with ExitStack() as stack:
        files = [stack.enter_context(opened(path, name)) for path, name in zip(paths, text.files, strict=True)]
        yield from side_by_side(files, text.files, problems)


def side_by_side(files: Sequence[IO[bytes]], names: Sequence[str], problems: LineProblems) -> Iterator[SentencePair]:
    """Give the lines of the English file and the other one in pairs; a third file has their ids.

    Raises CorpusError where one has more lines than the English file: no pair could be trusted then.
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

    - `path_of`: gives the path of a file of `text.files`.
    - `problems`: pairs that are left out are added to it.
    - yielded: both sentences as `clean` makes them.

    Raises CorpusError where a file cannot be read as a whole.
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
