"""Corpus figures from sums over images."""

from __future__ import annotations

import numpy as np
import pytest

from crosslens_metrics.java import ToolFailedError
from crosslens_metrics.meteor import UnknownLanguageError, meteor_of_sums, sums_of_answers
from crosslens_metrics.paired import METHODS, paired_difference_of_sums
from crosslens_metrics.relevance import bmrc
from crosslens_metrics.scores import MetricScores
from crosslens_metrics.scoring import score
from crosslens_metrics.signatures import Signature
from crosslens_metrics.sums import bmrc_of_sums, bmrc_sums, statistic_of

REFERENCES = [
    [f"the {animal} sits on a mat", f"a {animal} on the mat in a room"] for animal in ("cat", "dog", "cow") * 9
]
BETTER = [
    f"the {animal} sits on {place}"
    for animal, place in zip(("cat", "dog", "cow") * 9, ("a mat", "the mat in a room today", "it") * 9, strict=True)
]
WORSE = ["a thing", "a dog on the mat in there", "the cow sits on a cow on a mat"] * 9


def statistics(*rows: tuple[float, ...]) -> np.ndarray:
    """Of METEOR: weighted lengths, weighted matches, chunks, matched words."""
    return np.array(rows, dtype=float)


@pytest.mark.parametrize("method", METHODS)
def test_the_paired_difference_of_bleu_is_that_of_the_two_corpus_figures(method):
    ours, theirs = (score(candidates, REFERENCES, metrics=["bleu"]) for candidates in (BETTER, WORSE))
    for one, other in zip(ours, theirs, strict=True):
        paired = paired_difference_of_sums(
            one.scores.sums,
            other.scores.sums,
            statistic=statistic_of(one.signature),
            method=method,
            resamples=400,
            rng=np.random.default_rng(5),
        )
        assert paired.difference == pytest.approx(one.scores.corpus - other.scores.corpus, rel=1e-12)
        of_means = one.scores.per_image.mean() - other.scores.per_image.mean()
        assert abs(paired.difference - of_means) > 0.001
        assert paired.interval.low < paired.difference < paired.interval.high


def test_meteor_of_sums_weighs_precision_recall_and_fragments():
    # English: alpha 0.85, beta 0.2, gamma 0.6. P = 4/8, R = 3/4, 2 chunks of 6 words.
    mean = 1 / (0.15 / 0.5 + 0.85 / 0.75)
    expected = mean * (1 - 0.6 * (2 / 6) ** 0.2)
    assert meteor_of_sums(statistics((8, 4, 4, 3, 2, 6)), language="en") == pytest.approx([expected], rel=1e-12)


@pytest.mark.parametrize(
    ("language", "statistics", "expected"),
    [
        ("en", "30 28 9 8 2 2 2 2 2 1 2 1 1 1 1 2 2 2 2 1 3 14 12", 0.15234169214051863),
        ("cs", "30 28 9 8 2 2 1 2 1 1 1 1 0 0 0 0 0 0 0 0 3 5 6", 0.06340173194658115),
        ("de", "30 28 9 8 2 1 2 1 2 2 1 2 2 2 1 1 0 0 0 0 3 10 9", 0.16572582017185378),
        ("es", "30 28 9 8 2 2 1 1 1 1 2 1 1 2 1 1 0 0 0 0 3 8 8", 0.17048395991959375),
        ("fr", "30 28 9 8 2 2 1 1 1 2 1 1 1 2 1 1 0 0 0 0 3 7 9", 0.138270472142854),
        ("ru", "30 28 9 8 2 1 2 2 2 2 1 1 2 2 1 1 0 0 0 0 3 10 9", 0.1882568134338133),
        ("da", "30 28 9 8 1 1 2 1 2 2 2 2 0 0 0 0 0 0 0 0 3 7 6", 0.11301756778330571),
    ],
)
def test_meteor_of_its_statistics_is_what_the_program_makes_of_them(language, statistics, expected):
    """The right column is from the program's own class, which needs no table of paraphrases for it."""
    sums = sums_of_answers([statistics, statistics], language=language)
    assert meteor_of_sums(sums, language=language) == pytest.approx([expected] * 2, rel=1e-12)


def test_a_candidate_that_is_its_reference_adds_no_chunk():
    same, other = "3 3 1 1 2 2 1 1" + " 0" * 12 + " 1 3 3", "4 3 1 1 2 2 1 1" + " 0" * 12 + " 1 3 3"
    assert sums_of_answers([same, other], language="fi")[:, 4].tolist() == [0, 1]


@pytest.mark.parametrize("answer", ["1 2 3", "0.5", "x" + " 0" * 22])
def test_an_answer_without_the_statistics_is_no_answer(answer):
    with pytest.raises(ToolFailedError, match="METEOR answered"):
        sums_of_answers([answer], language="en")


def test_meteor_is_one_for_the_very_words_and_nothing_without_a_match():
    rows = statistics((4, 4, 4, 4, 0, 5), (4, 4, 0, 0, 0, 0), (0, 4, 0, 0, 0, 0))
    assert meteor_of_sums(rows, language="en").tolist() == [1, 0, 0]


def test_bmrc_of_sums_adds_corpus_figures_and_means():
    rng = np.random.default_rng(3)
    bleu_4 = score(BETTER, REFERENCES, metrics=["bleu-4"])[0].scores
    table = np.tile(statistics((8, 4, 4, 3, 2, 6)), (27, 1))
    meteor = MetricScores(float(meteor_of_sums(table[:1], language="de")[0]), rng.random(27), table)
    rouge_l, cider = (MetricScores(float(values.mean()), values) for values in rng.random((2, 27)))

    sums = bmrc_sums(bleu_4, meteor, rouge_l, cider)

    expected = bmrc(bleu_4.corpus, meteor.corpus, rouge_l.corpus, cider.corpus)
    assert bmrc_of_sums([sums.sum(axis=0)], language="de") == pytest.approx([float(expected)], rel=1e-12)
    with pytest.raises(ValueError, match="need those of BLEU-4 and of METEOR"):
        bmrc_sums(bleu_4, rouge_l, rouge_l, cider)


def test_only_figures_that_are_no_means_have_a_statistic():
    known = {name: statistic_of(Signature.parse(f"{name}|v:1|lang:en")) for name in ("bleu-2", "meteor", "bmrc")}
    assert None not in known.values()
    assert statistic_of(Signature.parse("meteor|v:1|lang:zh|params:en"))(statistics((8, 8, 4, 4, 2, 4))) == (
        statistic_of(Signature.parse("meteor|v:1|lang:en"))(statistics((8, 8, 4, 4, 2, 4)))
    )
    for name in ("rouge-l", "cider", "cider-d", "wmdrel", "wcc"):
        assert statistic_of(Signature.parse(f"{name}|v:1")) is None


def test_sums_that_cannot_be_meteors_are_refused():
    with pytest.raises(ValueError, match="METEOR follows from 6 sums in a row"):
        meteor_of_sums([[1, 2]], language="en")
    with pytest.raises(UnknownLanguageError, match="zh"):
        meteor_of_sums(np.ones((1, 6)), language="zh")
