"""Read TMX 1.4, translation memories in XML, piece by piece.

References
----------
LISA OSCAR (2005), TMX 1.4b Specification.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO
from xml.parsers import expat

from crosslens_metrics.messages import gettext as _
from parallel_text.config import ENGLISH, Text
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.sentences import BROKEN, MAX_SENTENCE_CHARACTERS, SentencePair, is_of, opened

READ_BYTES = 1 << 16
MAX_TAG_BYTES, MAX_VARIANTS = 10**6, 1_000
"""Of a tag or comment, and sentences of one unit. Translation memories have 50 languages at most."""
DECLARED = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
CODES = {"bpt", "ept", "it", "ph", "ut"}
"""Elements of a segment that hold codes of a program, and no text."""


def read_tmx(text: Text, paths: tuple[Path, ...], problems: LineProblems) -> Iterator[SentencePair]:
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
