"""METEOR 1.5 by its public Java program, called as the public COCO caption tool calls it. Needs Java."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from metrics.java import Talk, ToolFailed, ToolMissing, jar
from metrics.scores import MetricScores
from metrics.text import check_captions

VERSION = "1.5"
JAR_VARIABLE = "METEOR_JAR"
INSIDE_PACKAGE = "meteor/meteor-1.5.jar"
MEMORY = "-Xmx2G"
SEPARATOR = " ||| "
BREAKS = re.compile("[\n\r\v\f\x85\u2028\u2029 ]+")

FULL = {"en": "en", "cs": "cz", "de": "de", "es": "es", "fr": "fr", "ru": "ru"}
"""Languages with METEOR's own tokens, weights and paraphrases, and the program's names for them."""
STEMS_ONLY = {
    "da": "da", "fi": "fi", "hu": "hu", "it": "it", "nl": "nl", "no": "no", "pt": "pt", "ro": "ro", "sv": "se",
    "tr": "tr",
}  # fmt: skip
"""Languages with a stemmer, weights for any language and no tokeniser of METEOR's."""


class LanguageUnknown(ValueError):
    """METEOR 1.5 does not know the language."""


def meteor(candidates: Sequence[str], references: Sequence[Sequence[str]], *, language: str = "en") -> MetricScores:
    """METEOR 1.5: harmonic mean of matched words (exact, stem, synonym, paraphrase), less a penalty for fragments.

    Parameters
    ----------
    candidates : sequence of str, length n_images
        May be empty texts, which score 0.
    references : sequence of sequence of str, length n_images
        One or more for each image.
    language : str
        Of `FULL` or `STEMS_ONLY`, or a tag that begins so. In the first METEOR tokenises, lower-cases and takes up
        punctuation in its own way; in the others it lower-cases, and tokens are what whitespace separates.

    Returns
    -------
    MetricScores
        Dimensionless, in [0, 1]. The corpus figure comes from the sums of all matches, not from a mean.

    Raises
    ------
    ValueError
        If there is no image, the lengths differ, or an image has no reference; `LanguageUnknown`.
    metrics.java.ToolMissing
        If Java, the archive or the table of paraphrases of the language is not there.
    metrics.java.ToolFailed

    References
    ----------
    M. Denkowski, A. Lavie (2014), Meteor Universal: Language Specific Translation Evaluation for Any Target Language.
    """
    check_captions(candidates, references)
    name = program_language(language)
    archive = jar(JAR_VARIABLE, INSIDE_PACKAGE, "meteor-1.5.jar")
    is_full = name in FULL.values()
    if is_full:
        _check_paraphrases(archive, name)
    text = "-norm" if is_full else "-lower"
    with Talk([MEMORY, "-jar", str(archive), "-", "-", "-stdio", "-l", name, text], folder=archive.parent) as program:
        program.send(_questions(candidates, references))
        matches = [program.answer() for _candidate in candidates]
        program.send([_line("EVAL", *matches)], is_last=True)
        figures = [_figure(program.answer()) for _candidate in candidates]
        corpus = _figure(program.answer())
    return MetricScores(corpus=corpus, per_image=np.array(figures, dtype=np.float64))


def program_language(language: str) -> str:
    """What METEOR calls a language.

    Raises
    ------
    LanguageUnknown
    """
    primary = language.split("-", 1)[0].lower()
    name = FULL.get(primary) or STEMS_ONLY.get(primary)
    if name is None:
        known = ", ".join(sorted([*FULL, *STEMS_ONLY]))
        raise LanguageUnknown(f"METEOR 1.5 knows {known}; not {language!r}. Leave METEOR out for this language.")
    return name


def _check_paraphrases(archive: Path, name: str) -> None:
    table = archive.parent / "data" / f"paraphrase-{name}.gz"
    if not table.is_file():
        raise ToolMissing(
            f"METEOR lacks {table.name}: pycocoevalcap has paraphrases for English only. Unpack meteor-1.5.tar.gz of "
            f"its authors, and name the meteor-1.5.jar in it in the environment variable {JAR_VARIABLE}."
        )


def _questions(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Iterator[str]:
    for candidate, of_image in zip(candidates, references, strict=True):
        yield _line("SCORE", *map(_plain, of_image), _plain(candidate))


def _plain(text: str) -> str:
    # The public tool drops the mark too, though only from candidates: in a reference it would make two of it.
    return BREAKS.sub(" ", text.replace("|||", ""))


def _line(*parts: str) -> str:
    return SEPARATOR.join(parts)


def _figure(answer: str) -> float:
    try:
        figure = float(answer)
    except ValueError:
        figure = math.nan
    if not math.isfinite(figure):
        raise ToolFailed(f"METEOR answered {answer[:80]!r} where a number should be.")
    return figure
