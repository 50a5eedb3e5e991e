"""All metrics by name: captions in, figures with their signatures out. What the command and the platform share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from metrics import meteor as meteor_1_5
from metrics.bleu import bleu_of
from metrics.cider import cider_d_of, cider_of
from metrics.document_frequencies import DocumentFrequencies
from metrics.encoding import EncodedCaptions, encode
from metrics.rouge_l import rouge_l_of
from metrics.scores import MetricScores
from metrics.signatures import Signature, references_digest
from metrics.text import Tokenizer, normalised_by_default, text_version, tokenise

IMPLEMENTATION = "1"
"""Of the metrics of our own. Raised when a figure changes in any digit that is compared."""
SIGMA = 6.0
BETA = 1.2
LONGEST_GRAM = 4


class Need(StrEnum):
    """What a metric needs besides captions and references."""

    JAVA = "java"


class UnknownMetric(ValueError):
    """There is no metric of that name."""


@dataclass(frozen=True)
class Figure:
    """One number that a metric gives. Papers and pages show it `shown_times` its value, with one or two decimals."""

    name: str
    title: str
    shown_times: float = 100.0


@dataclass(frozen=True)
class Scored:
    """A figure over the corpus and of each image, and what it was computed by and on."""

    metric: str
    signature: Signature
    scores: MetricScores


@dataclass(frozen=True)
class Prepared:
    """Captions as tokens, encoded once for all metrics; keeps what was computed, since some metrics sum up others."""

    encoded: EncodedCaptions
    candidates: Sequence[str]
    references: Sequence[Sequence[str]]
    text: str
    language: str
    digest: str
    frequencies: DocumentFrequencies | None
    workers: int
    done: dict[str, list[Scored]] = field(default_factory=dict)

    def scored(self, name: str) -> list[Scored]:
        """The figures of a metric, computed once.

        Raises
        ------
        UnknownMetric
        metrics.java.ToolMissing, metrics.java.ToolFailed, metrics.meteor.LanguageUnknown
            From METEOR.
        """
        if name not in self.done:
            self.done[name] = metric_named(name).compute(self)
        return self.done[name]

    def signature(self, figure: str, **settings: object) -> Signature:
        """What all signatures say, and `settings` between the text and the references."""
        first = {"v": settings.pop("v", IMPLEMENTATION), "text": self.text, "lang": settings.pop("lang", None)}
        if self.text.startswith(Tokenizer.ICU):
            first["lang"] = self.language
        return Signature.of(figure, {**first, **settings, "refs": self.digest})


@dataclass(frozen=True)
class Metric:
    """A metric by name, and the figures it gives."""

    name: str
    figures: tuple[Figure, ...]
    compute: Callable[[Prepared], list[Scored]]
    needs: frozenset[Need] = frozenset()


def prepare(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenizer: str = Tokenizer.WHITESPACE,
    language: str = "en",
    normalise: bool | None = None,
    frequencies: DocumentFrequencies | None = None,
    workers: int = 1,
) -> Prepared:
    """Captions made ready for any number of metrics.

    Parameters
    ----------
    candidates : sequence of str, length n_images
        One caption for each image as it was written; may be empty.
    references : sequence of sequence of str, length n_images
        One or more captions for each image, in the same order.
    tokenizer, language, normalise
        See `metrics.text.tokenise`. METEOR asks for the language too.
    frequencies : DocumentFrequencies, optional
        In how many images n-grams occur, for CIDEr and CIDEr-D; without it, the references tell.
    workers : int
        Processor cores to use.

    Raises
    ------
    ValueError
        If there is no image, the lengths differ, an image has no reference, or there is no such tokeniser.
    metrics.java.ToolMissing
        If the tokeniser needs a program or package that is not there.
    """
    if normalise is None:
        normalise = normalised_by_default(tokenizer)
    flat = [*candidates, *(text for texts in references for text in texts)]
    tokens = tokenise(flat, tokenizer=tokenizer, language=language, normalise=normalise)
    tokenised = tokens[: len(candidates)]
    grouped = _grouped(tokens[len(candidates) :], references)
    return Prepared(
        encoded=encode(tokenised, grouped, workers=workers),
        candidates=tokenised,
        references=grouped,
        text=text_version(tokenizer, normalise),
        language=language,
        digest=references_digest(references),
        frequencies=frequencies,
        workers=workers,
    )


def score(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    metrics: Iterable[str],
    tokenizer: str = Tokenizer.WHITESPACE,
    language: str = "en",
    normalise: bool | None = None,
    frequencies: DocumentFrequencies | None = None,
    workers: int = 1,
) -> list[Scored]:
    """The figures of several metrics, in the order in which they are named.

    Parameters
    ----------
    candidates, references, tokenizer, language, normalise, frequencies, workers
        See `prepare`.
    metrics : iterable of str
        Names in `METRICS`. One may give several figures: "bleu" gives bleu-1 to bleu-4.

    Returns
    -------
    list of Scored
        Values on the scales of the reference implementations: BLEU, METEOR and ROUGE-L in [0, 1], CIDEr and CIDEr-D
        in [0, 10], BMRC as it is published (all of these times 100, summed up).

    Raises
    ------
    ValueError
        As `prepare`; `UnknownMetric`; `metrics.meteor.LanguageUnknown`.
    metrics.java.ToolMissing, metrics.java.ToolFailed
    """
    names = list(dict.fromkeys(metrics))
    for name in names:
        metric_named(name)
    prepared = prepare(
        candidates,
        references,
        tokenizer=tokenizer,
        language=language,
        normalise=normalise,
        frequencies=frequencies,
        workers=workers,
    )
    return [scored for name in names for scored in prepared.scored(name)]


def metric_named(name: str) -> Metric:
    """The metric of a name.

    Raises
    ------
    UnknownMetric
    """
    if name not in METRICS:
        raise UnknownMetric(f"There is no metric {name!r}. There are: {', '.join(METRICS)}.")
    return METRICS[name]


def _grouped(flat: list[str], references: Sequence[Sequence[str]]) -> list[list[str]]:
    grouped, start = [], 0
    for texts in references:
        grouped.append(flat[start : start + len(texts)])
        start += len(texts)
    return grouped


def _bleu(prepared: Prepared) -> list[Scored]:
    figures = bleu_of(prepared.encoded, workers=prepared.workers)
    return [
        Scored(f"bleu-{order}", prepared.signature(f"bleu-{order}", n=order), scores)
        for order, scores in enumerate(figures, start=1)
    ]


def _rouge_l(prepared: Prepared) -> list[Scored]:
    signature = prepared.signature("rouge-l", beta=f"{BETA:g}")
    return [Scored("rouge-l", signature, rouge_l_of(prepared.encoded, beta=BETA, workers=prepared.workers))]


def _cider(prepared: Prepared) -> list[Scored]:
    signature = prepared.signature("cider", n=LONGEST_GRAM, df=_frequencies_of(prepared))
    return [
        Scored(
            "cider", signature, cider_of(prepared.encoded, frequencies=prepared.frequencies, workers=prepared.workers)
        )
    ]


def _cider_d(prepared: Prepared) -> list[Scored]:
    signature = prepared.signature("cider-d", n=LONGEST_GRAM, sigma=f"{SIGMA:g}", df=_frequencies_of(prepared))
    scores = cider_d_of(prepared.encoded, sigma=SIGMA, frequencies=prepared.frequencies, workers=prepared.workers)
    return [Scored("cider-d", signature, scores)]


def _frequencies_of(prepared: Prepared) -> str:
    return "references" if prepared.frequencies is None else prepared.frequencies.signature


def _meteor(prepared: Prepared) -> list[Scored]:
    signature = prepared.signature("meteor", v=meteor_1_5.VERSION, lang=prepared.language)
    scores = meteor_1_5.meteor(prepared.candidates, prepared.references, language=prepared.language)
    return [Scored("meteor", signature, scores)]


def _bmrc(prepared: Prepared) -> list[Scored]:
    parts = [prepared.scored(name)[-1].scores for name in ("bleu", "meteor", "rouge-l", "cider-d")]
    scores = MetricScores(
        corpus=100 * math.fsum(part.corpus for part in parts),
        per_image=100 * np.sum([part.per_image for part in parts], axis=0),
    )
    settings = {"meteor": meteor_1_5.VERSION, "cider": "cider-d", "df": _frequencies_of(prepared)}
    return [Scored("bmrc", prepared.signature("bmrc", lang=prepared.language, **settings), scores)]


_ALL = (
    Metric("cider", (Figure("cider", "CIDEr"),), _cider),
    Metric("cider-d", (Figure("cider-d", "CIDEr-D"),), _cider_d),
    Metric("bleu", tuple(Figure(f"bleu-{order}", f"BLEU-{order}") for order in (1, 2, 3, 4)), _bleu),
    Metric("rouge-l", (Figure("rouge-l", "ROUGE-L"),), _rouge_l),
    Metric("meteor", (Figure("meteor", "METEOR"),), _meteor, frozenset({Need.JAVA})),
    Metric("bmrc", (Figure("bmrc", "BMRC", shown_times=1.0),), _bmrc, frozenset({Need.JAVA})),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ALL}
FIGURES: Mapping[str, Figure] = {figure.name: figure for metric in _ALL for figure in metric.figures}
