"""METEOR 1.5 by its public Java program, called as the public COCO caption tool calls it. Needs Java."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crosslens_metrics.java import JavaDialogue, ToolFailedError, ToolMissingError, jar
from crosslens_metrics.scores import MetricScores
from crosslens_metrics.text import check_captions

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
ELSEWHERE = "en"
"""Whose parameters are used where METEOR has none for a language: published figures, as those of Chinese, do so."""


@dataclass(frozen=True)
class MeteorParameters:
    """METEOR's, as it is tuned for a language. `weights` are of its kinds of matches in the order of its statistics."""

    alpha: float
    beta: float
    gamma: float
    delta: float
    weights: tuple[float, ...]


TUNED = {
    "en": MeteorParameters(0.85, 0.2, 0.6, 0.75, (1.0, 0.6, 0.8, 0.6)),
    "cz": MeteorParameters(0.95, 0.2, 0.6, 0.8, (1.0, 0.4)),
    "de": MeteorParameters(0.95, 1.0, 0.55, 0.55, (1.0, 0.8, 0.2)),
    "es": MeteorParameters(0.65, 1.3, 0.5, 0.8, (1.0, 0.8, 0.6)),
    "fr": MeteorParameters(0.9, 1.4, 0.6, 0.65, (1.0, 0.2, 0.4)),
    "ru": MeteorParameters(0.75, 1.4, 0.7, 0.5, (1.0, 0.5, 0.5)),
}
FOR_ANY = MeteorParameters(0.75, 1.4, 0.7, 0.5, (1.0, 0.5))
STATISTICS = 23
"""Numbers that the program gives of a caption: 4 lengths, 4 of each of 4 kinds of matches, chunks, 2 of all matches."""
SUMS = 6


class UnknownLanguageError(ValueError):
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
        Of `FULL` or `STEMS_ONLY`, or a tag that begins so. In the first METEOR tokenises, lower-cases and splits
        punctuation in its own way; in the others it lower-cases, and tokens are what whitespace separates.

    Returns
    -------
    MetricScores
        Dimensionless, in [0, 1]. The corpus figure comes from the sums of all matches, not from a mean; `sums` are of
        `meteor_of_sums`.

    Raises
    ------
    ValueError
        If there is no image, the lengths differ, or an image has no reference; `UnknownLanguageError`.
    crosslens_metrics.java.ToolMissingError
        If Java, the archive or the table of paraphrases of the language is not there.
    crosslens_metrics.java.ToolFailedError

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
    with JavaDialogue(
        [MEMORY, "-jar", str(archive), "-", "-", "-stdio", "-l", name, text], folder=archive.parent
    ) as program:
        program.send(_questions(candidates, references))
        matches = [program.answer() for _candidate in candidates]
        program.send([_line("EVAL", *matches)], is_last=True)
        figures = [_figure(program.answer()) for _candidate in candidates]
        corpus = _figure(program.answer())
    return MetricScores(corpus, np.array(figures, dtype=np.float64), sums_of_answers(matches, language=language))


def meteor_of_sums(sums: ArrayLike, *, language: str) -> NDArray[np.float64]:
    """METEOR 1.5 of sums over images, such as those of resamples, without the program.

    Parameters
    ----------
    sums : array_like of float, shape (n_some, 6)
        Weighted words of the candidates and of the references, weighted matches of either, chunks, matched words per
        side. As in the program, a candidate that is its reference word by word adds no chunk.
    language : str
        As `meteor`.

    Returns
    -------
    ndarray of float, shape (n_some,)
        In [0, 1].

    Raises
    ------
    ValueError
        Where the number of columns is another; `UnknownLanguageError`.
    """
    table, about = np.asarray(sums, dtype=np.float64), parameters_of(language)
    if table.ndim != 2 or table.shape[1] != SUMS:
        raise ValueError(f"METEOR follows from {SUMS} sums in a row, not from shape {table.shape}.")
    figures = np.zeros(len(table))
    # Where nothing matches, the figure is 0.
    some = (table[:, 2:4] > 0).all(axis=1)
    ours, theirs, right_of_ours, right_of_theirs, chunks, matched = table[some].T
    mean = 1 / ((1 - about.alpha) * ours / right_of_ours + about.alpha * theirs / right_of_theirs)
    figures[some] = np.maximum(0, mean * (1 - about.gamma * (chunks / matched) ** about.beta))
    return figures


def parameters_of(language: str) -> MeteorParameters:
    """
    Raises
    ------
    UnknownLanguageError
    """
    return TUNED.get(program_language(language), FOR_ANY)


def program_language(language: str) -> str:
    """What METEOR calls a language.

    Raises
    ------
    UnknownLanguageError
    """
    primary = language.split("-", 1)[0].lower()
    name = FULL.get(primary) or STEMS_ONLY.get(primary)
    if name is None:
        known = ", ".join(sorted([*FULL, *STEMS_ONLY]))
        raise UnknownLanguageError(f"METEOR 1.5 knows {known}; not {language!r}.")
    return name


def parameters_language(language: str) -> str:
    """The language whose parameters METEOR uses for captions in `language`: its own where it has any."""
    try:
        program_language(language)
    except UnknownLanguageError:
        return ELSEWHERE
    return language


def _check_paraphrases(archive: Path, name: str) -> None:
    table = archive.parent / "data" / f"paraphrase-{name}.gz"
    if not table.is_file():
        raise ToolMissingError(
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


def sums_of_answers(answers: Sequence[str], *, language: str) -> NDArray[np.float64]:
    """What each image adds to the sums of `meteor_of_sums`, from the statistics that the program gives of it.

    Parameters
    ----------
    answers : sequence of str, length n_images
        Each: words of candidate and reference; function words of both; by kind of match the content words and then the
        function words matched of both; chunks; words matched of both.
    language : str
        As `meteor`.

    Returns
    -------
    ndarray of float, shape (n_images, 6)

    Raises
    ------
    UnknownLanguageError
    crosslens_metrics.java.ToolFailedError
        Where an answer is another.
    """
    about = parameters_of(language)
    table = np.array([_statistics(answer) for answer in answers])
    sides = []
    for side in (0, 1):
        words, function = table[:, side], table[:, 2 + side]
        by_kind = [table[:, 4 + side + 4 * kind :: 2][:, :2] for kind in range(len(about.weights))]
        content_and_function = np.array([about.delta, 1 - about.delta])
        right = sum(
            weight * (counts @ content_and_function) for weight, counts in zip(about.weights, by_kind, strict=True)
        )
        sides.append((about.delta * (words - function) + (1 - about.delta) * function, right))
    (ours, right_of_ours), (theirs, right_of_theirs) = sides
    is_its_reference = (table[:, 20] == 1) & (table[:, :2] == table[:, 21:23]).all(axis=1)
    chunks, matched = np.where(is_its_reference, 0, table[:, 20]), table[:, 21:23].mean(axis=1)
    return np.stack([ours, theirs, right_of_ours, right_of_theirs, chunks, matched], axis=1)


def _statistics(answer: str) -> list[float]:
    figures = [_figure(part) for part in answer.split()]
    if len(figures) != STATISTICS:
        raise ToolFailedError(f"METEOR answered {answer[:80]!r} where {STATISTICS} numbers should be.")
    return figures


def _figure(answer: str) -> float:
    try:
        figure = float(answer)
    except ValueError:
        figure = math.nan
    if not math.isfinite(figure):
        raise ToolFailedError(f"METEOR answered {answer[:80]!r} where a number should be.")
    return figure
