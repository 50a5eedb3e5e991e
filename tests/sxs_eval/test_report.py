"""The report of one comparison: each figure has its value or says why it has none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from django.utils import translation

from annotation.pages.quality import WHY_NOT_OVER_AUTHORS
from crosslens_metrics.reports.comparison import CountedJudgements, build_report, decided
from crosslens_metrics.reports.comparison_figures import (
    MESSAGES,
    ComparisonReason,
    GainFigure,
    ReportedFigures,
    UndefinedComparison,
)
from crosslens_metrics.reports.figures import MESSAGES as SCORE_MESSAGES
from crosslens_metrics.reports.figures import as_json
from crosslens_metrics.undefined import UndefinedReason

UNKNOWN = -1


def judged(rows: list[tuple[Any, ...]]) -> CountedJudgements:
    """From (image, rater, score) and, where known, whether the test caption is left, and seconds."""
    full = [(*row, *(UNKNOWN, np.nan)[len(row) - 3 :]) for row in rows]
    image, rater, score, is_left, seconds = zip(*full, strict=True) if full else ((),) * 5
    return CountedJudgements(
        np.array(image, dtype=object),
        np.array(rater, dtype=object),
        np.array(score, dtype=int),
        np.array(is_left, dtype=np.int8),
        np.array(seconds, dtype=float),
    )


def by_three(scores: Sequence[Sequence[int]]) -> CountedJudgements:
    return judged(
        [
            (f"i{image}", rater, score)
            for image, given in enumerate(scores)
            for rater, score in zip(("ann", "bob", "cem"), given, strict=False)
        ]
    )


def report(data: CountedJudgements, **options: Any) -> ReportedFigures:
    return build_report(data, **{"seed": 1, "resamples": 500} | options)


def reasons(data: Any) -> set[str]:
    """All codes of what is undefined in a report as JSON."""
    if isinstance(data, dict):
        own = {data["undefined"]} if "undefined" in data else set()
        return own.union(*(reasons(value) for value in data.values()))
    return set().union(*(reasons(value) for value in data)) if isinstance(data, list) else set()


def test_incomplete_images_are_beside_the_figures_and_not_in_them():
    complete = [(1, 1, 0), (2, 3, -1), (-1, -1, -1), (0, 1, -1)]
    with_more = report(by_three([*complete, (3, 3), (3,)]), not_judged=4).outcome

    assert with_more.images.incomplete == 6
    assert with_more.images.incomplete_by_judgements == {0: 4, 1: 1, 2: 1}
    assert (with_more.images.denominator, with_more.wins.count, with_more.losses.count) == (4, 2, 1)
    assert with_more.gain == report(by_three(complete)).outcome.gain


def test_pairs_counted_as_similar_are_in_the_denominator_and_nowhere_else():
    scores = [(1, 1, 0), (2, 3, -1), (-1, -1, -1), (0, 1, -1)]
    without, with_them = report(by_three(scores)), report(by_three(scores), counted_similar=4)

    assert isinstance(without.outcome.gain, GainFigure)
    assert isinstance(with_them.outcome.gain, GainFigure)
    assert with_them.outcome.gain.points == without.outcome.gain.points / 2
    assert with_them.outcome.neither.count == without.outcome.neither.count + 4
    assert with_them.outcome.images.complete == 4
    assert (with_them.alpha, with_them.distribution) == (without.alpha, without.distribution)


def test_pairs_counted_unseen_are_no_gain_of_zero_while_all_that_are_shown_wait():
    nothing_yet = report(by_three([(1, 1)]), counted_similar=4, not_judged=2)
    outcome = nothing_yet.outcome

    assert (
        outcome.gain == outcome.wins.percent == nothing_yet.precision == UndefinedComparison(UndefinedReason.NO_IMAGES)
    )
    assert (outcome.images.counted_similar, outcome.images.incomplete) == (4, 3)
    assert len(decided(by_three([(1, 1)]), similar=["i8", "i9"]).image) == 0
    assert len(decided(by_three([]), similar=["i8", "i9"], not_judged=2).image) == 0


def test_where_every_pair_has_equal_captions_the_gain_is_zero():
    outcome = report(by_three([]), counted_similar=4).outcome
    assert isinstance(outcome.gain, GainFigure)
    assert outcome.gain.points == 0
    assert len(decided(by_three([]), similar=["i8", "i9"]).image) == 2


def test_an_image_with_more_judgements_than_asked_for_needs_more_than_half_of_them():
    outcome = report(by_three([(1, 1, 1), (-1, -1, 0)]), replication=2).outcome
    assert outcome.images.beyond_replication == 2
    assert (outcome.wins.count, outcome.losses.count) == (1, 1)
    tied = judged([("i", rater, score) for rater, score in zip("abcd", (1, 1, -1, 0), strict=True)])
    assert report(tied).outcome.neither.count == 1


def test_exchanging_the_models_exchanges_wins_and_losses_and_leaves_agreement_alone():
    rng = np.random.default_rng(3)
    scores = rng.integers(-3, 4, size=(60, 3))
    there, back = report(by_three(scores.tolist())), report(by_three((-scores).tolist()))

    assert (there.outcome.wins, there.outcome.losses) == (back.outcome.losses, back.outcome.wins)
    assert there.outcome.sign_test == back.outcome.sign_test
    assert not isinstance(there.alpha, UndefinedComparison)
    assert not isinstance(back.alpha, UndefinedComparison)
    assert there.alpha.value == pytest.approx(back.alpha.value)


@pytest.mark.parametrize("five_points", [(-3, -2, 0, 2, 3), (-2, -1, 0, 1, 2)])
def test_both_ways_to_number_five_points_give_the_same_figures(five_points):
    levels = np.random.default_rng(5).integers(0, 5, size=(40, 3))
    figures = report(by_three(np.array(five_points)[levels].tolist()))
    expected = report(by_three((levels - 2).tolist()))
    assert (figures.outcome, figures.alpha, figures.precision) == (expected.outcome, expected.alpha, expected.precision)


def test_the_left_share_of_a_rater_counts_preferred_captions_by_side():
    rows = [("i1", "ann", 2, 1), ("i2", "ann", -1, 0), ("i3", "ann", 3, 0), ("i4", "ann", 0, 1), ("i5", "ann", 1)]
    (ann,) = report(judged(rows)).raters
    # Left: test on the left and better, and base on the left and better. The tie and the unknown side do not count.
    assert not isinstance(ann.left, UndefinedComparison)
    assert (ann.left.count, ann.left.total) == (2, 3)
    assert ann.left.percent == pytest.approx(200 / 3)


def test_a_rater_who_always_takes_the_left_side_is_seen_and_one_who_does_not_look_at_sides_is_not():
    rng = np.random.default_rng(8)
    rows = []
    for image in range(200):
        sides = rng.integers(0, 2, size=2)
        rows.append((image, "left-lover", 1 if sides[0] else -1, int(sides[0])))
        rows.append((image, "fair", int(rng.choice([-1, 1])), int(sides[1])))
    fair, left_lover = report(judged(rows)).raters
    assert not isinstance(fair.left, UndefinedComparison)
    assert not isinstance(left_lover.left, UndefinedComparison)
    assert fair.left.interval.holds(50)
    assert left_lover.left.percent == 100
    assert left_lover.left.interval.low > 95


def test_regions_have_gains_of_their_own_that_add_up():
    scores = [(1, 1, 1), (1, 1, 0), (-1, -1, 0), (0, 0, 0), (3, 3)]
    regions = {"i0": "coast", "i1": "coast", "i2": "hills", "i3": "coast"}
    figures = report(
        by_three(scores), region_of=regions, not_judged=2, not_judged_in={"hills": 2}, counted_similar_in={"lake": 1}
    ).regions

    by_region = {figure.region: figure.outcome for figure in figures}
    assert list(by_region) == ["", "coast", "hills", "lake"]
    assert (by_region["coast"].wins.count, by_region["coast"].images.denominator) == (2, 3)
    assert by_region["hills"].images.incomplete == 2
    assert by_region["hills"].losses.percent == 100
    assert by_region[""].gain == UndefinedComparison(UndefinedReason.NO_IMAGES)
    assert by_region["lake"].neither.count == 1


def test_one_region_more_changes_no_figure_of_the_others():
    scores = np.random.default_rng(0).integers(-1, 2, size=(50, 3)).tolist()
    regions = {f"i{image}": "coast" for image in range(30)}
    one = report(by_three(scores), region_of=regions)
    two = report(by_three(scores), region_of=regions | {"i40": "hills", "i41": "hills"})
    assert one.outcome == two.outcome
    assert one.regions[1] == two.regions[1]


def test_the_same_seed_gives_the_same_report_and_another_seed_only_other_intervals():
    data = by_three(np.random.default_rng(0).integers(-3, 4, size=(50, 3)).tolist())
    assert report(data) == report(data)
    # A database may hold a negative seed.
    other = report(data, seed=-7)
    assert other.outcome.wins == report(data).outcome.wins
    assert other.outcome.gain != report(data).outcome.gain


ALL_BUT_VARIATION: set[UndefinedReason | ComparisonReason] = {
    UndefinedReason.NO_IMAGES,
    UndefinedReason.NO_PAIR_OF_RATINGS,
}
ALL_BUT_VARIATION |= {ComparisonReason.NO_SIDE_PREFERRED, ComparisonReason.NO_REPEATS, ComparisonReason.NO_TIMES}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (by_three([]), ALL_BUT_VARIATION),
        (judged([("i0", "ann", 3), ("i1", "ann", -1)]), ALL_BUT_VARIATION),
        (
            judged([(image, rater, 0, 1, 3.0) for image in "ab" for rater in ("ann", "bob", "cem")]),
            {UndefinedReason.NO_DIFFERENCE, UndefinedReason.NO_DECIDED, UndefinedReason.ALL_RATINGS_EQUAL}
            | {ComparisonReason.NO_SIDE_PREFERRED, ComparisonReason.NO_REPEATS},
        ),
        (
            judged([("a", "ann", 1, 1, 3.0), ("a", "bob", 1, 0, 3.0), ("a", "cem", 2, 1, 3.0)]),
            {UndefinedReason.NO_VARIATION, UndefinedReason.ONE_DECIDED, ComparisonReason.NO_REPEATS},
        ),
    ],
    ids=["nothing", "one rater", "all ties", "one image"],
)
def test_what_is_undefined_says_why_and_nothing_is_nan(data, expected):
    written = report(data).as_json()
    text = json.dumps(written, allow_nan=False)
    assert "NaN" not in text
    assert reasons(written) == {str(reason) for reason in expected}


def test_every_reason_has_words_in_the_language_of_the_reader():
    # What only scores can lack is said where scores are.
    assert {*MESSAGES, *SCORE_MESSAGES, *WHY_NOT_OVER_AUTHORS} == {*UndefinedReason, *ComparisonReason}
    with translation.override("en"):
        assert all(str(message).endswith(".") for message in MESSAGES.values())


def test_no_figure_can_be_written_as_nan():
    with pytest.raises(ValueError, match="Undefined"):
        as_json({"gain": float("nan")})


def test_columns_of_different_lengths_and_scores_off_the_scale_are_refused():
    good = by_three([(1, 2, 3)])
    with pytest.raises(ValueError, match="one length"):
        CountedJudgements(good.image[:1], good.rater, good.score, good.test_is_left, good.seconds)
    with pytest.raises(ValueError, match="on this scale"):
        by_three([(1, 2, 4)])


def test_decided_images_and_similar_ones_are_what_pooling_takes():
    outcomes = decided(by_three([(1, 1, 0), (-1, -2, 3), (1, 1), (0, 0, 0)]), similar=["i9"])
    assert dict(zip(outcomes.image, outcomes.outcome.tolist(), strict=True)) == {"i0": 1, "i1": -1, "i3": 0, "i9": 0}
