"""Read parallel text of the formats in which it is distributed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from crosslens_metrics.messages import gettext as _
from parallel_text.config import Text
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.readers import moses, opus, tmx, tsv
from parallel_text.readers.sentences import BadSentenceError, SentencePair, clean


class _PairReader(Protocol):
    def __call__(self, text: Text, paths: tuple[Path, ...], problems: LineProblems) -> Iterator[SentencePair]: ...


READERS: dict[str, _PairReader] = {"moses": moses.read, "opus": opus.read, "tmx": tmx.read, "tsv": tsv.read}


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
