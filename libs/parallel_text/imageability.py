"""Imageability of words from 100 to 700: rated by people, or predicted from the vectors of rated words."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from crosslens_metrics.messages import gettext as _
from crosslens_metrics.word_vectors import WordVectorSource
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.sentences import lines_of, opened

MIN_IMAGEABILITY, MAX_IMAGEABILITY = 100.0, 700.0
"""The scale of the MRC psycholinguistic database."""

FOLDS = 10
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
MIN_RATED = 50
"""Rated words with vectors, below which nothing is predicted."""

WORDS_AT_ONCE = 4_096
"""Words whose vectors are in memory at the same time."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class ImageabilityFit:
    """How well predictions meet ratings that they were not fitted to, in 10 folds.

    `precision` and `recall` are of words at or above `threshold`; None where no word is, or none is predicted to be.
    """

    words: int
    dimensions: int
    spearman: float
    pearson: float
    threshold: float
    precision: float | None
    recall: float | None

    def as_json(self) -> dict[str, Any]:
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}


def read_ratings(path: Path, problems: LineProblems, *, name: str) -> dict[str, float]:
    """Read a CSV file with the columns `word` and `imageability`, by word in lower case.

    Raises CorpusError where the columns are missing, or no line can be read.
    """
    with opened(path, name) as file:
        return _ratings(csv.reader(text or "" for _number, text in lines_of(file, name, problems)), problems, name)


def _ratings(rows: Any, problems: LineProblems, name: str) -> dict[str, float]:
    header = [column.strip().lower() for column in next(rows, [])]
    if not {"word", "imageability"} <= set(header):
        raise CorpusError(_("%(file)s, line 1: the columns word and imageability are needed.") % {"file": name})
    word_at, rating_at = header.index("word"), header.index("imageability")
    ratings: dict[str, float] = {}
    try:
        for row in rows:
            if not row:
                continue
            if reason := _fault(row, word_at, rating_at, ratings):
                problems.add("bad_rating", reason, file=name, line=rows.line_num)
            else:
                ratings[row[word_at].strip().lower()] = float(row[rating_at])
    except csv.Error as error:
        raise CorpusError(
            _("%(file)s, line %(line)d: %(error)s.") % {"file": name, "line": rows.line_num, "error": error}
        ) from error
    if not ratings:
        raise CorpusError(_("%(file)s has no rating that can be used.") % {"file": name})
    return ratings


def _fault(row: list[str], word_at: int, rating_at: int, ratings: Mapping[str, float]) -> str:
    if len(row) <= max(word_at, rating_at):
        return _("This line has too few columns.")
    word = row[word_at].strip().lower()
    if not word or "\ufffd" in word:
        return _("The word is missing or not in UTF-8.")
    if word in ratings:
        return _("“%(word)s” has a rating further up, which is used.") % {"word": word}
    try:
        rating = float(row[rating_at])
    except ValueError:
        rating = float("nan")
    if not MIN_IMAGEABILITY <= rating <= MAX_IMAGEABILITY:
        return _("The rating must be a number from 100 to 700.")
    return ""


class ImageabilityRatings:
    """Ratings, extended to words with vectors by ridge regression."""

    def __init__(
        self, ratings: Mapping[str, float], vectors: WordVectorSource | None, *, threshold: float, seed: int
    ) -> None:
        self.ratings, self.vectors = ratings, vectors
        self.fit: ImageabilityFit | None = None
        self._weights: Matrix | None = None
        batches = list(_rows(sorted(ratings), vectors))
        kept = [word for _rows_of_batch, known in batches for word in known]
        if len(kept) >= MIN_RATED:
            rows = np.concatenate([rows_of_batch for rows_of_batch, _known in batches])
            targets = np.array([ratings[word] for word in kept])
            self.fit = cross_validated(rows, targets, threshold=threshold, seed=seed)
            self._weights = _ridge(rows, targets, _best_penalty(rows, targets, _folds(len(kept), seed)))

    def of(self, words: Iterable[str]) -> dict[str, tuple[float, str]]:
        """Map words to their imageability and where it is from, `rated` or `vectors`; unknown words are left out."""
        words = list(words)
        scores = {word: (self.ratings[word], "rated") for word in words if word in self.ratings}
        if self._weights is not None:
            for rows, kept in _rows([word for word in words if word not in scores], self.vectors):
                predicted = np.clip(_with_one(rows) @ self._weights, MIN_IMAGEABILITY, MAX_IMAGEABILITY)
                scores |= {word: (float(score), "vectors") for word, score in zip(kept, predicted, strict=True)}
        return scores


def cross_validated(rows: Matrix, targets: Matrix, *, threshold: float, seed: int) -> ImageabilityFit:
    """Predict each rating from the other nine tenths; the penalty is chosen inside those.

    - `rows`: shape (n_words, n_dimensions).
    - `targets`: shape (n_words,): ratings from 100 to 700.
    - `threshold`: of precision and recall.
    - `seed`: of the folds.
    """
    predicted = np.empty_like(targets)
    for held in _folds(len(targets), seed):
        kept = np.setdiff1d(np.arange(len(targets)), held)
        penalty = _best_penalty(rows[kept], targets[kept], _folds(len(kept), seed))
        predicted[held] = _with_one(rows[held]) @ _ridge(rows[kept], targets[kept], penalty)
    said, true = predicted >= threshold, targets >= threshold
    hits = int((said & true).sum())
    return ImageabilityFit(
        words=len(targets),
        dimensions=rows.shape[1],
        spearman=float(scipy.stats.spearmanr(predicted, targets).statistic),
        pearson=float(scipy.stats.pearsonr(predicted, targets).statistic),
        threshold=threshold,
        precision=hits / int(said.sum()) if said.any() else None,
        recall=hits / int(true.sum()) if true.any() else None,
    )


def _rows(words: Sequence[str], vectors: WordVectorSource | None) -> Iterator[tuple[Matrix, list[str]]]:
    """Give vectors of unit length of the words that have one, and those words, `WORDS_AT_ONCE` looked up at a time."""
    if vectors is None:
        return
    for start in range(0, len(words), WORDS_AT_ONCE):
        some = words[start : start + WORDS_AT_ONCE]
        known: list[str] = []
        rows = np.empty((len(some), vectors.dimensions))
        for word in some:
            found = vectors.vector(word)
            if found is None:
                continue
            vector = np.asarray(found, np.float64)
            if (norm := np.linalg.norm(vector)) > 0:
                rows[len(known)] = vector / norm
                known.append(word)
        if known:
            yield rows[: len(known)], known


def _folds(count: int, seed: int) -> list[NDArray[np.intp]]:
    return np.array_split(np.random.default_rng(seed).permutation(count), FOLDS)


def _with_one(rows: Matrix) -> Matrix:
    return np.hstack([rows, np.ones((len(rows), 1))])


def _ridge(rows: Matrix, targets: Matrix, penalty: float) -> Matrix:
    """Weights of the columns and, last, the intercept, which is not penalised."""
    centre, mean = rows.mean(axis=0), targets.mean()
    centred = rows - centre
    weights = np.linalg.solve(centred.T @ centred + penalty * np.eye(rows.shape[1]), centred.T @ (targets - mean))
    return np.append(weights, mean - centre @ weights)


def _best_penalty(rows: Matrix, targets: Matrix, folds: list[NDArray[np.intp]]) -> float:
    def error(penalty: float) -> float:
        total = 0.0
        for held in folds:
            kept = np.setdiff1d(np.arange(len(targets)), held)
            total += float(
                ((_with_one(rows[held]) @ _ridge(rows[kept], targets[kept], penalty) - targets[held]) ** 2).sum()
            )
        return total

    return min(PENALTIES, key=error)
