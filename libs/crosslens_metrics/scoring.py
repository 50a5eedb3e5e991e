"""All metrics by name: captions in, figures with their signatures out. What the command and the platform share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics import meteor as meteor_1_5
from crosslens_metrics.annotation_free import VectorProjections
from crosslens_metrics.bleu import bleu_of
from crosslens_metrics.cider import cider_d_of, cider_of
from crosslens_metrics.document_frequencies import DocumentFrequencies
from crosslens_metrics.relevance import bmrc, clin_rel, cmed_rel, wcc, wmd_rel
from crosslens_metrics.rouge_l import rouge_l_of
from crosslens_metrics.scored_tokens import ScoredTokens, note_on_empty_matches, note_on_weights, scored_tokens
from crosslens_metrics.scores import MetricScores
from crosslens_metrics.signatures import Signature
from crosslens_metrics.sums import bmrc_sums
from crosslens_metrics.text import Tokenizer
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from crosslens_metrics.word_movers import TextDistances, word_movers_distances
from crosslens_metrics.word_vectors import WordVectorSource

IMPLEMENTATION = "1"
"""Of the metrics of our own. Raised when a figure changes in any digit that is compared."""
SIGMA = 6.0
BETA = 1.2
MAX_GRAM_LENGTH = 4
OF_REFERENCES = "references"
"""What a signature says where document frequencies are of the references of the scored images."""
FARTHEST = 2.0
"""The z of WMDRel, the same for all models: how far apart texts can be at most by word vectors of length 1."""


class MetricNeed(StrEnum):
    """What a metric needs besides captions and references."""

    JAVA = "java"
    VECTORS = "vectors"
    PROJECTIONS = "projections"


class MissingInputError(ValueError):
    """A metric lacks what it needs."""


class UnknownMetricError(ValueError):
    """There is no metric of that name."""


@dataclass(frozen=True)
class MetricFigure:
    """One number that a metric gives. Papers and pages show it `shown_times` its value, with one or two decimals."""

    name: str
    title: str
    shown_times: float = 100.0


@dataclass(frozen=True)
class ScoredFigure:
    """A figure over the corpus and of each image, and what it was computed by and on.

    `notes` say in sentences what was left out, and what the figure cannot say.
    """

    metric: str
    signature: Signature
    scores: MetricScores
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PreparedCaptions:
    """Captions ready for all metrics; keeps what was computed, since some metrics sum up others.

    `against` has them as tokens, beside their references; without any, only metrics that need none can be computed.
    """

    against: ScoredTokens | None
    language: str
    frequencies: DocumentFrequencies | None
    workers: int
    vectors: WordVectorSource | None = None
    projections: VectorProjections | None = None
    meteor_language: str = meteor_1_5.ELSEWHERE
    done: dict[str, list[ScoredFigure]] = field(default_factory=dict)

    @property
    def tokens(self) -> ScoredTokens:
        """
        Raises
        ------
        MissingInputError
        """
        if self.against is None:
            raise MissingInputError("There are no references, which all metrics but CLinRel and CMedRel need.")
        return self.against

    def figures(self, names: Iterable[str]) -> list[ScoredFigure]:
        """The figures of metrics, in the order in which they are named. It raises what `scored` does."""
        results = [
            scored
            for name in dict.fromkeys(names)
            for scored in self.scored(name)
            if name in (metric_named(name).name, scored.metric)
        ]
        return list({scored.metric: scored for scored in results}.values())

    def scored(self, name: str) -> list[ScoredFigure]:
        """The figures of a metric, computed once.

        Raises
        ------
        UnknownMetricError
        MissingInputError
            If word vectors or projections are needed and were not given.
        ToolMissingError, ToolFailedError, UnknownLanguageError
            From METEOR: see `crosslens_metrics.java` and `crosslens_metrics.meteor`.
        """
        metric = metric_named(name)
        if metric.name not in self.done:
            notes = self.tokens.notes if metric.reads_references else ()
            self.done[metric.name] = [
                replace(scored, notes=tuple(dict.fromkeys([*notes, *scored.notes]))) for scored in metric.compute(self)
            ]
        return self.done[metric.name]

    def signature(self, figure: str, **settings: object) -> Signature:
        """What signatures of figures of tokens say, and `settings` between the text and the references."""
        tokens = self.tokens
        first = {"v": settings.pop("v", IMPLEMENTATION), "text": tokens.text, "lang": settings.pop("lang", None)}
        if tokens.text.startswith(Tokenizer.ICU):
            first["lang"] = self.language
        return Signature.of(figure, {**first, **settings, "refs": tokens.digest})


@dataclass(frozen=True)
class Metric:
    """A metric by name, and the figures it gives. Where it does not read references, it needs none."""

    name: str
    figures: tuple[MetricFigure, ...]
    compute: Callable[[PreparedCaptions], list[ScoredFigure]]
    needs: frozenset[MetricNeed] = frozenset()
    reads_references: bool = True


def prepare(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]] | None,
    *,
    tokenizer: str = Tokenizer.WHITESPACE,
    language: str = "en",
    spaced: bool | None = None,
    normalise: bool | None = None,
    frequencies: DocumentFrequencies | None = None,
    workers: int = 1,
    vectors: WordVectorSource | None = None,
    projections: VectorProjections | None = None,
    meteor_language: str | None = None,
) -> PreparedCaptions:
    """Captions made ready for any number of metrics.

    Parameters
    ----------
    candidates : sequence of str, length n_images
        One caption for each image as it was written; may be empty.
    references : sequence of sequence of str, length n_images, or None
        One or more captions for each image, in the same order; none for metrics that do without.
    tokenizer, language, normalise
        See `crosslens_metrics.text.tokenise`. METEOR asks for the language too.
    spaced : bool, optional
        Whether spaces separate the words of the language, so that a note can say if the tokens are none; without it as
        `crosslens_metrics.language_tags.spaces_separate_words` says.
    meteor_language : str, optional
        Whose parameters METEOR uses; without it those of the language, or the English ones where it has none.
    frequencies : DocumentFrequencies, optional
        In how many images n-grams occur, for CIDEr and CIDEr-D; without it, the references tell.
    workers : int
        Processor cores to use.
    vectors : crosslens_metrics.word_vectors.WordVectorSource, optional
        Of words in the language, for WMDRel and WCC. The references are then English ones, translated.
    projections : VectorProjections, optional
        For CLinRel, CMedRel and WCC.

    Returns
    -------
    PreparedCaptions
        What `PreparedCaptions.scored` computes metrics from.

    Raises
    ------
    ValueError
        If there is no image, the lengths differ, an image has no reference, or there is no such tokeniser.
    crosslens_metrics.java.ToolMissingError
        If the tokeniser needs a program or package that is not there.
    """
    against = None
    if references is not None:
        against = scored_tokens(
            candidates, references, tokenizer=tokenizer, language=language, spaced=spaced, normalise=normalise
        )
    return PreparedCaptions(
        against=against,
        language=language,
        frequencies=frequencies,
        workers=workers,
        vectors=vectors,
        projections=projections,
        meteor_language=meteor_language or meteor_1_5.parameters_language(language),
    )


def score(
    candidates: Sequence[str], references: Sequence[Sequence[str]] | None, *, metrics: Iterable[str], **settings: Any
) -> list[ScoredFigure]:
    """The figures of several metrics, in the order in which they are named.

    Parameters
    ----------
    candidates, references
        See `prepare`, which takes `settings` too.
    metrics : iterable of str
        Names in `METRICS`, one of which may give several figures ("bleu" gives bleu-1 to bleu-4), or of a figure.

    Returns
    -------
    list of ScoredFigure
        Values on the scales of the reference implementations: BLEU, METEOR and ROUGE-L in [0, 1], CIDEr and CIDEr-D
        in [0, 10], WMDRel in [0, 1], CLinRel and CMedRel in [-1, 1]; BMRC and WCC as they are published (parts times
        100, summed up).

    Raises
    ------
    ValueError
        As `prepare`; `UnknownMetricError`; `MissingInputError`; `crosslens_metrics.meteor.UnknownLanguageError`.
    crosslens_metrics.java.ToolMissingError, crosslens_metrics.java.ToolFailedError
    """
    wanted = list(metrics)
    for name in wanted:
        metric_named(name)
    return prepare(candidates, references, **settings).figures(wanted)


def metric_named(name: str) -> Metric:
    """The metric of a name, or the one that gives a figure of that name: `bleu-4` is of `bleu`.

    Raises
    ------
    UnknownMetricError
    """
    named = METRICS.get(name) or next(
        (metric for metric in METRICS.values() if name in [figure.name for figure in metric.figures]), None
    )
    if named is None:
        raise UnknownMetricError(f"There is no metric {name!r}. There are: {', '.join(METRICS)}.")
    return named


def _bleu(prepared: PreparedCaptions) -> list[ScoredFigure]:
    figures = bleu_of(prepared.tokens.encoded, workers=prepared.workers)
    return [
        ScoredFigure(f"bleu-{order}", prepared.signature(f"bleu-{order}", n=order), scores)
        for order, scores in enumerate(figures, start=1)
    ]


def _rouge_l(prepared: PreparedCaptions) -> list[ScoredFigure]:
    signature = prepared.signature("rouge-l", beta=f"{BETA:g}")
    scores = rouge_l_of(prepared.tokens.encoded, beta=BETA, workers=prepared.workers)
    return [ScoredFigure("rouge-l", signature, scores, note_on_empty_matches(prepared.tokens.encoded))]


def _cider(prepared: PreparedCaptions) -> list[ScoredFigure]:
    signature = prepared.signature("cider", n=MAX_GRAM_LENGTH, df=_frequencies_of(prepared))
    scores = cider_of(prepared.tokens.encoded, frequencies=prepared.frequencies, workers=prepared.workers)
    return [ScoredFigure("cider", signature, scores, _on_frequencies(prepared, scores))]


def _cider_d(prepared: PreparedCaptions) -> list[ScoredFigure]:
    signature = prepared.signature("cider-d", n=MAX_GRAM_LENGTH, sigma=f"{SIGMA:g}", df=_frequencies_of(prepared))
    scores = cider_d_of(
        prepared.tokens.encoded, sigma=SIGMA, frequencies=prepared.frequencies, workers=prepared.workers
    )
    return [ScoredFigure("cider-d", signature, scores, _on_frequencies(prepared, scores))]


def _frequencies_of(prepared: PreparedCaptions) -> str:
    return OF_REFERENCES if prepared.frequencies is None else prepared.frequencies.signature


def _on_frequencies(prepared: PreparedCaptions, scores: MetricScores) -> tuple[str, ...]:
    notes = note_on_weights(scores, prepared.tokens.references, prepared.frequencies)
    made = prepared.frequencies.text if prepared.frequencies else ""
    if made in ("", prepared.tokens.text):
        return notes
    return (
        *notes,
        f"The document frequencies are of texts by {made}, the captions by {prepared.tokens.text}: count them alike.",
    )


def _meteor(prepared: PreparedCaptions) -> list[ScoredFigure]:
    signature = prepared.signature("meteor", v=meteor_1_5.VERSION, **_meteor_settings(prepared))
    tokens = prepared.tokens
    scores = meteor_1_5.meteor(tokens.candidates, tokens.references, language=prepared.meteor_language)
    return [ScoredFigure("meteor", signature, scores, _on_parameters(prepared))]


def _meteor_settings(prepared: PreparedCaptions) -> dict[str, object]:
    """`params` stands only where they are not the language's own, so that other signatures stay what they were."""
    others = prepared.meteor_language if prepared.meteor_language != prepared.language else None
    return {"lang": prepared.language, "params": others}


def _on_parameters(prepared: PreparedCaptions) -> tuple[str, ...]:
    if prepared.meteor_language == prepared.language:
        return ()
    return (f"METEOR used the parameters of {prepared.meteor_language} for captions in {prepared.language}.",)


def _bmrc(prepared: PreparedCaptions) -> list[ScoredFigure]:
    scored = [prepared.scored(name)[-1] for name in ("bleu", "meteor", "rouge-l", "cider-d")]
    parts = [part.scores for part in scored]
    settings = {"meteor": meteor_1_5.VERSION, "cider": "cider-d", "df": _frequencies_of(prepared)}
    signature = prepared.signature("bmrc", **_meteor_settings(prepared), **settings)
    scores = replace(_summed(bmrc, parts), sums=bmrc_sums(*parts))
    return [ScoredFigure("bmrc", signature, scores, tuple(note for part in scored for note in part.notes))]


def _wmdrel(prepared: PreparedCaptions) -> list[ScoredFigure]:
    if prepared.vectors is None:
        raise MissingInputError("WMDRel needs word vectors in the language of the captions; none were given.")
    tokens = prepared.tokens
    counts = [len(texts) for texts in tokens.references]
    ours = [text for text, count in zip(tokens.candidates, counts, strict=True) for _reference in range(count)]
    theirs = [text for texts in tokens.references for text in texts]
    distances = word_movers_distances(ours, theirs, prepared.vectors, unit_length=True)
    if distances.undefined == len(ours):
        raise UndefinedFigureError(
            UndefinedReason.NO_KNOWN_WORD,
            "No caption and its reference have words with vectors. Are they of the language?",
        )
    of_pairs = wmd_rel(distances.values, z=FARTHEST).per_image
    starts = np.cumsum([0, *counts[:-1]])
    signature = prepared.signature("wmdrel", z=f"{FARTHEST:g}", vectors=prepared.vectors.signature)
    return [
        ScoredFigure("wmdrel", signature, _of_images(np.add.reduceat(of_pairs, starts) / counts), _left_out(distances))
    ]


def _left_out(distances: TextDistances) -> tuple[str, ...]:
    """What WMDRel does not rest on; words are those of the distinct texts."""
    notes = []
    if distances.unknown_words:
        notes.append(f"WMDRel left out {distances.unknown_words:,} of {distances.words:,} words, which have no vector.")
    if distances.undefined:
        notes.append(
            f"WMDRel counts {distances.undefined:,} pairs of captions as 0: one of the two has no word with a vector."
        )
    return tuple(notes)


def _clinrel(prepared: PreparedCaptions) -> list[ScoredFigure]:
    given = _projections(prepared, "CLinRel")
    if given.references is None:
        raise MissingInputError("CLinRel needs projections of the English references; none were given.")
    scores = _of_images(clin_rel(given.candidates, given.references))
    encoder = given.encoders(given.english_encoder)
    settings = {"v": IMPLEMENTATION, "encoder": encoder, "english": given.english}
    return [ScoredFigure("clinrel", Signature.of("clinrel", settings), scores)]


def _cmedrel(prepared: PreparedCaptions) -> list[ScoredFigure]:
    given = _projections(prepared, "CMedRel")
    if given.images is None:
        raise MissingInputError("CMedRel needs features of the images; none were given.")
    scores = _of_images(cmed_rel(given.candidates, given.images))
    encoder = given.encoders(given.features_encoder)
    settings = {"v": IMPLEMENTATION, "encoder": encoder, "sample": given.sample}
    return [ScoredFigure("cmedrel", Signature.of("cmedrel", settings), scores)]


def _wcc(prepared: PreparedCaptions) -> list[ScoredFigure]:
    parts = [prepared.scored(name)[0] for name in ("wmdrel", "clinrel", "cmedrel")]
    settings = {key: parts[0].signature.get(key) for key in ("z", "vectors")}
    given = _projections(prepared, "WCC")
    encoder = given.encoders(given.english_encoder, given.features_encoder)
    settings |= {"encoder": encoder, "english": given.english}
    signature = prepared.signature("wcc", **settings)
    return [ScoredFigure("wcc", signature, _summed(wcc, [part.scores for part in parts]), parts[0].notes)]


def _projections(prepared: PreparedCaptions, title: str) -> VectorProjections:
    if prepared.projections is None:
        raise MissingInputError(f"{title} needs projections of the captions; none were given.")
    return prepared.projections


def _of_images(values: NDArray[np.float64]) -> MetricScores:
    return MetricScores(corpus=float(values.mean()), per_image=values)


def _summed(total: Callable[..., NDArray[np.float64]], parts: Sequence[MetricScores]) -> MetricScores:
    corpus = float(total(*(part.corpus for part in parts)))
    return MetricScores(corpus=corpus, per_image=total(*(part.per_image for part in parts)))


_JAVA = frozenset({MetricNeed.JAVA})
_VECTORS = frozenset({MetricNeed.VECTORS})
_PROJECTIONS = frozenset({MetricNeed.PROJECTIONS})
_ALL = (
    Metric("cider", (MetricFigure("cider", "CIDEr"),), _cider),
    Metric("cider-d", (MetricFigure("cider-d", "CIDEr-D"),), _cider_d),
    Metric("bleu", tuple(MetricFigure(f"bleu-{order}", f"BLEU-{order}") for order in (1, 2, 3, 4)), _bleu),
    Metric("rouge-l", (MetricFigure("rouge-l", "ROUGE-L"),), _rouge_l),
    Metric("meteor", (MetricFigure("meteor", "METEOR"),), _meteor, _JAVA),
    Metric("bmrc", (MetricFigure("bmrc", "BMRC", shown_times=1.0),), _bmrc, _JAVA),
    Metric("wmdrel", (MetricFigure("wmdrel", "WMDRel"),), _wmdrel, _VECTORS),
    Metric("clinrel", (MetricFigure("clinrel", "CLinRel"),), _clinrel, _PROJECTIONS, reads_references=False),
    Metric("cmedrel", (MetricFigure("cmedrel", "CMedRel"),), _cmedrel, _PROJECTIONS, reads_references=False),
    Metric("wcc", (MetricFigure("wcc", "WCC", shown_times=1.0),), _wcc, _VECTORS | _PROJECTIONS),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ALL}
FIGURES: Mapping[str, MetricFigure] = {figure.name: figure for metric in _ALL for figure in metric.figures}
