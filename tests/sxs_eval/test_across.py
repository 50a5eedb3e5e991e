"""Figures over several comparisons: one gain of them all, and the order of the models."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.intervals import Interval
from metrics.ranking import Bound
from metrics.undefined import Reason
from sxs_eval.rules.across import Contest, RankedComponent, pool, rank_models
from sxs_eval.rules.figures import Gain, Undefined
from sxs_eval.rules.report import Decided


def part(outcomes: list[int], *, first: int = 0) -> Decided:
    return Decided(np.arange(first, first + len(outcomes)), np.array(outcomes, dtype=np.int8))


def drawn(chance: float, *, images: int, seed: int) -> Decided:
    """The test caption wins so often, and loses else."""
    return part(np.where(np.random.default_rng(seed).random(images) < chance, 1, -1).tolist())


def points(gain: Gain | Undefined) -> float:
    assert isinstance(gain, Gain)
    return gain.points


def test_the_pooled_gain_weighs_each_image_of_each_comparison_alike():
    pooled = pool([part([1, 1, 0, -1]), part([1, -1], first=2)], seed=0)
    assert (pooled.comparisons, pooled.images, pooled.outcomes) == (2, 4, 6)
    assert (pooled.wins, pooled.losses) == (3, 2)
    assert points(pooled.gain) == pytest.approx(100 / 6)


def test_the_pooled_sign_test_looks_at_each_picture_once():
    pooled = pool([part([1, 1, 1, 1, 1])] * 4, seed=0)
    assert not isinstance(pooled.sign_test, Undefined)
    assert pooled.sign_test.decided == 5
    assert pooled.sign_test.p == pytest.approx(2 / 2**5)


def test_nothing_pooled_says_why():
    pooled = pool([], seed=0)
    assert pooled.gain == Undefined(Reason.NO_IMAGES)
    assert pooled.sign_test == Undefined(Reason.NO_DECIDED)


def ranked(contests: list[Contest], *, resamples: int = 100) -> list[RankedComponent]:
    ranking = rank_models(contests, seed=0, resamples=resamples)
    assert ranking is not None
    return list(ranking.components)


def strengths_of(component: RankedComponent) -> dict[str, float]:
    found = {model.model: model.strength for model in component.models}
    assert not any(isinstance(strength, Undefined) for strength in found.values())
    return found  # type: ignore[return-value]


def three_models(images: int = 300) -> list[Contest]:
    """`good` leads clearly, `fair` and `poor` are the same."""
    return [
        Contest("fair", "good", drawn(0.75, images=images, seed=1)),
        Contest("poor", "good", drawn(0.75, images=images, seed=2)),
        Contest("poor", "fair", drawn(0.5, images=images, seed=9)),
    ]


def test_models_that_differ_are_told_apart_and_those_that_do_not_are_not():
    (ranking,) = ranked(three_models(), resamples=300)

    assert ranking.models[0].model == "good"
    assert sum(strengths_of(ranking).values()) == pytest.approx(0)
    separable = {frozenset((pair.stronger, pair.weaker)): pair.separable for pair in ranking.pairs}
    assert separable == {
        frozenset({"good", "fair"}): True,
        frozenset({"good", "poor"}): True,
        frozenset({"fair", "poor"}): False,
    }
    for pair in ranking.pairs:
        assert isinstance(pair.more_images, int)
        assert (pair.more_images == 0) == (pair.separable is True)


def test_which_model_is_called_base_does_not_matter():
    def turned(contest: Contest) -> Contest:
        return Contest(contest.test, contest.base, Decided(contest.decided.image, -contest.decided.outcome))

    (straight,), (around,) = ranked(three_models()), ranked([turned(contest) for contest in three_models()])

    assert [model.model for model in straight.models] == [model.model for model in around.models]
    assert strengths_of(straight) == pytest.approx(strengths_of(around))


def test_a_model_that_never_lost_is_marked_and_the_others_have_their_intervals():
    (alone,) = ranked(three_models())
    (ranking,) = ranked([*three_models(), Contest("good", "perfect", part([1] * 20))])

    assert [(model.model, model.bound) for model in ranking.models][:2] == [
        ("perfect", Bound.NEVER_LOST),
        ("good", Bound.JUDGEMENTS),
    ]
    # A logit with half an image more on either side (Anscombe 1956): 20 won, none lost.
    assert ranking.pairs[0].difference == pytest.approx(np.log(20.5 / 0.5))
    assert ranking.pairs[0].separable == ranking.models[0].interval == Undefined(Reason.STRENGTH_UNBOUNDED)
    assert strengths_of(ranking) == pytest.approx(strengths_of(alone) | {"perfect": strengths_of(ranking)["perfect"]})
    assert all(isinstance(model.interval, Interval) for model in ranking.models[1:])


def test_a_group_of_models_that_never_lost_to_the_others_is_marked_but_ranked_within():
    (ranking,) = ranked(
        [*three_models(), Contest("good", "top", part([1] * 9)), Contest("top", "peak", part([1, 1, -1]))]
    )
    assert {model.model for model in ranking.models if model.bound == Bound.GROUP} == {"top", "peak"}
    assert (ranking.pairs[0].stronger, ranking.pairs[0].weaker) == ("peak", "top")
    assert ranking.pairs[0].difference == pytest.approx(np.log(2))
    assert ranking.pairs[0].interval != Undefined(Reason.STRENGTH_UNBOUNDED)


def test_models_that_were_never_compared_are_ranked_apart():
    first, second = ranked([Contest("a", "b", part([1, -1, 1])), *three_models()])
    assert [model.model for model in second.models] == ["b", "a"]
    assert (first.images, second.images) == (300, 3)
    (alone,) = ranked(three_models())
    assert first == alone


def test_one_comparison_without_outcomes_and_too_few_models_make_no_ranking():
    assert rank_models([Contest("a", "b", part([1, -1])), Contest("c", "d", part([]))], seed=0) is None


def test_too_few_images_leave_strengths_without_intervals():
    contests = [
        Contest("a", "b", part([1, 1, 1, -1])),
        Contest("b", "c", part([1, 1, -1, 1])),
        Contest("a", "c", part([1, 1, 1, 1])),
    ]
    (ranking,) = ranked(contests, resamples=200)
    assert [model.model for model in ranking.models] == ["c", "b", "a"]
    assert {model.interval for model in ranking.models} == {Undefined(Reason.RESAMPLES_UNDEFINED)}
    assert {pair.separable for pair in ranking.pairs} == {Undefined(Reason.RESAMPLES_UNDEFINED)}
