"""Reference captions from a file, line by line: COCO, JSON Lines, Crossmodal-3600. No message repeats a caption.

`crosslens_metrics.formats.captions` takes a file whole or not at all; this reports each line that is wrong and goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any

from django.utils.translation import gettext as _

from crosslens_metrics.formats.captions import has_sentences, sentences_are_not_read
from crosslens_metrics.formats.names import image_name
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import (
    READ_BYTES,
    LineRecord,
    count_lines,
    json_members,
    json_records,
    read_record,
)
from crosslens_metrics.hidden_characters import has_hidden
from crosslens_metrics.language_tags import language_named_in
from research.inference.rules.captions import caption_text, image_named_in, language_tag

ANNOTATIONS, IMAGES = "annotations", "images"
COCO_START = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"(info|images|annotations|licenses|categories|type)"\s*:\s*["\[{]')
"""COCO has one object around all; its first name is none that a line for one image begins with."""

MAX_PER_IMAGE = 1_000
"""Captions of one image in one language."""


@dataclass(frozen=True)
class ReferenceLine:
    """`names` are those that the image may go by, the likeliest first; `captions` are by language and never empty.

    `left_out` says what of the line cannot be taken, and `captions_left_out` how many captions that are; `had_hidden`,
    from how many hidden characters were removed.
    """

    number: int
    names: tuple[str, ...]
    captions: Mapping[str, list[str]]
    left_out: list[str] = field(default_factory=list)
    captions_left_out: int = 0
    had_hidden: int = 0

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def count(self) -> int:
        """How many captions can be taken."""
        return sum(map(len, self.captions.values()))


def count_references(file: IO[bytes]) -> int:
    """How many lines or entries there are, or 0 where that only shows at the end."""
    return 0 if _is_coco(file) else count_lines(file)


def reference_lines(file: IO[bytes], *, language: str, known: Iterable[str]) -> Iterator[ReferenceLine | LineError]:
    """What each line says, in the order of the file.

    Parameters
    ----------
    language : str
        Tag of the only language to be taken, in which lines without one are; or empty, to take all `known` ones.
    known : iterable of str
        Tags of languages.

    Raises
    ------
    FileRefusedError
        Where nothing in the file can be read.
    """
    reader = _ReferenceReader(language, frozenset(known))
    if _is_coco(file):
        if not language:
            raise FileRefusedError(_("A file in COCO's layout does not say its language. Choose it."))
        yield from _of_coco(file, reader)
        return
    for record in json_records(file):
        yield read_record(record, partial(reader.line, record.number))


def _is_coco(file: IO[bytes]) -> bool:
    file.seek(0)
    head = file.read(READ_BYTES)
    file.seek(0)
    return COCO_START.match(head) is not None


def _of_coco(file: IO[bytes], reader: _ReferenceReader) -> Iterator[ReferenceLine | LineError]:
    # Twice through the file, as images may be named after their captions.
    files: dict[str, str] = {}
    why = _("There is no caption.")
    for member, record in json_members(file):
        entry = record.value if member == IMAGES and isinstance(record, LineRecord) else None
        if isinstance(entry, dict) and isinstance(entry.get("file_name"), str):
            files[image_name(entry.get("id")) or ""] = entry["file_name"].strip()
        if has_sentences(entry):
            why = sentences_are_not_read()
    is_any_there = False
    for member, record in json_members(file):
        if member == ANNOTATIONS:
            is_any_there = True
            yield read_record(record, partial(reader.annotation, record.number, files))
    if not is_any_there:
        raise FileRefusedError(why)


class _ReferenceReader:
    def __init__(self, language: str, known: frozenset[str]) -> None:
        self.language, self.known = language, known

    def annotation(self, number: int, files: Mapping[str, str], parsed: Any) -> ReferenceLine:
        image, value = _image_of(parsed)
        text = caption_text(value.get("caption"), image)
        named = files.get(image, "")
        names, hidden = (named, image) if named else (image,), int(has_hidden(value["caption"]))
        return ReferenceLine(number, names, {self.language: [text]}, had_hidden=hidden)

    def line(self, number: int, parsed: Any) -> ReferenceLine:
        image, value = _image_of(parsed)
        if "caption" in value and "captions" in value:
            raise LineError(_("This has both “caption” and “captions”. Give only one of them."), image)
        by_language = [(key, of["caption"]) for key, of in value.items() if _is_of_language(of)]
        if "caption" in value:
            by_language.insert(0, (language_named_in(value), [value["caption"]]))
        elif "captions" in value:
            by_language.insert(0, (language_named_in(value), value["captions"]))
        elif not by_language:
            raise LineError(_("There is no caption."), image)
        return self._line(number, image, by_language)

    def _line(self, number: int, image: str, by_language: Sequence[tuple[Any, Any]]) -> ReferenceLine:
        taken: dict[str, list[str]] = {}
        refused, others, captions_refused, hidden = [], [], 0, 0
        for key, value in by_language:
            try:
                tag = self._tag(key, image)
                if self.language and tag != self.language:
                    others.append(tag)
                elif texts := _texts(value, image):
                    taken.setdefault(tag, []).extend(texts)
                    hidden += sum(map(has_hidden, value))
            except LineError as problem:
                refused.append(f"{key}: {problem}" if key and len(by_language) > 1 else str(problem))
                captions_refused += len(value) if isinstance(value, list) else 1
        if not taken:
            raise LineError(" ".join(refused) or self._nothing(others), image, captions=captions_refused or 1)
        return ReferenceLine(number, (image,), taken, refused, captions_refused, hidden)

    def _nothing(self, others: list[str]) -> str:
        if not others:
            return _("There is no caption.")
        return _("There is no caption in %(language)s, only in %(others)s.") % {
            "language": self.language,
            "others": ", ".join(others),
        }

    def _tag(self, key: Any, image: str) -> str:
        if not key and not self.language:
            raise LineError(_("No language is given. Choose the language of the file."), image)
        tag = language_tag(key, image) if key else self.language
        if tag not in self.known:
            raise LineError(_("There is no language %(tag)s on this installation.") % {"tag": tag}, image)
        return tag


def _image_of(value: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(value, dict):
        raise LineError(_("This is not a JSON object with “image” and “caption”."))
    return image_named_in(value), value


def _is_of_language(value: Any) -> bool:
    return isinstance(value, dict) and "caption" in value


def _texts(value: Any, image: str) -> list[str]:
    if not isinstance(value, list):
        raise LineError(_("“captions” must be a list of texts."), image)
    if len(value) > MAX_PER_IMAGE:
        raise LineError(
            _("There are %(count)s captions of one image. The most allowed is %(limit)s.")
            % {"count": len(value), "limit": MAX_PER_IMAGE},
            image,
        )
    return [caption_text(text, image) for text in value]
