"""Reference captions of a file of any layout, line by line. No message repeats a caption.

`crosslens_metrics.formats.captions` takes a file whole or not at all; this reports each line that is wrong and goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from django.utils.translation import gettext as _

from crosslens_metrics.formats.caption_rows import CaptionRow, GivenCaptions, caption_texts, language_tag
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.recognition import captions_of
from crosslens_metrics.hidden_characters import has_hidden


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """`names` are those that the image may go by, the likeliest first; each of the `captions` has its tag.

    A table by tag would take as much memory as the captions: a file has hundreds of thousands of lines.
    `left_out` says what of the line cannot be taken, and `captions_left_out` how many captions that are; `had_hidden`,
    from how many hidden characters were removed.
    """

    number: int
    names: tuple[str, ...]
    captions: tuple[tuple[str, str], ...]
    left_out: Sequence[str] = ()
    captions_left_out: int = 0
    had_hidden: int = 0

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def count(self) -> int:
        """How many captions can be taken."""
        return len(self.captions)


def reference_lines(
    file: IO[bytes],
    *,
    language: str,
    known: Iterable[str],
    otherwise: str = "",
    said: Mapping[str, str] | None = None,
    folder: str = "",
    written_by: str = "",
) -> Iterator[ReferenceLine | LineError]:
    """What each line says, in the order of the file.

    - `language`: tag of the only language to be taken, in which lines without one are; or empty, to take all `known`
      ones.
    - `known`: tags of languages.
    - `otherwise`: tag of what does not say its language, where all are taken.
    - `said`: names of columns that somebody gave.
    - `folder`: in which the images are looked for first.
    - `written_by`: people or models, where only theirs are taken of a file that has both.

    Raises FileRefusedError where nothing in the file can be read.
    """
    reader = _ReferenceReader(language, frozenset(known), otherwise)
    for row in captions_of(file, said=said, folder=folder, written_by=written_by):
        if isinstance(row, LineError):
            yield row
            continue
        try:
            yield reader.line(row)
        except LineError as error:
            yield LineError(error.reason, error.name, number=row.number, captions=error.captions)


class _ReferenceReader:
    def __init__(self, language: str, known: frozenset[str], otherwise: str) -> None:
        self.language, self.known, self.otherwise = language, known, otherwise

    def line(self, row: CaptionRow) -> ReferenceLine:
        taken: list[tuple[str, str]] = []
        refused, others, captions_refused, hidden = [], [], 0, 0
        for given in row.captions:
            try:
                tag = self._tag(given, row.name)
                if self.language and tag != self.language:
                    others.append(tag)
                    continue
                texts, wrong = caption_texts(given.value, row.name)
                if texts:
                    taken += [(tag, text) for text in texts]
                    several = given.value if isinstance(given.value, list) else [given.value]
                    hidden += sum(has_hidden(text) for text in several if isinstance(text, str))
                refused += [f"{given.language}: {one}" if len(row.captions) > 1 else str(one) for one in wrong]
                captions_refused += len(wrong)
            except LineError as problem:
                refused.append(f"{given.language}: {problem}" if len(row.captions) > 1 else str(problem))
                captions_refused += len(given.value) if isinstance(given.value, list) else 1
        if not taken:
            raise LineError(" ".join(refused) or self._nothing(others), row.name, captions=captions_refused or 1)
        return ReferenceLine(row.number, row.names, tuple(taken), tuple(refused), captions_refused, hidden)

    def _nothing(self, others: list[str]) -> str:
        if not others:
            return _("There is no caption.")
        return _("There is no caption in %(language)s, only in %(others)s.") % {
            "language": self.language,
            "others": ", ".join(others),
        }

    def _tag(self, given: GivenCaptions, image: str) -> str:
        otherwise = self.language or self.otherwise
        if not given.language and not otherwise:
            raise LineError(_("No language is given. Choose the language of the file."), image)
        tag = language_tag(given.language, image) if given.language else otherwise
        if tag not in self.known:
            raise LineError(_("There is no language %(tag)s on this installation.") % {"tag": tag}, image)
        return tag
