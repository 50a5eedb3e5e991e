"""Makes the demo's comparisons of invented models: some judged, one half judged, some untouched.

The services of the pages make everything. The quality of the captions and a seed decide what invented raters answer. A
rater who has had a batch of a comparison gives no more answers here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple

from core.images.models import Collection
from core.people.models import Project, User
from sxs_eval.models import Comparison, Judgement, JudgingBatch, TrialKind
from sxs_eval.services import judging
from sxs_eval.services.comparisons import fill_comparison
from sxs_eval.services.quality import use_gold_pair
from tools.demo.captions import Clock, import_captions
from tools.demo.texts import BRIEF, CAPTIONS, DESCRIPTIONS, DISCLAIMER, MODELS, RICH, TEXTS, WOBBLY

SEED = 3600
STARTED, RETURNED, IN_THE_MIDDLE = RATERS = ("jonas-de", "greta-de", "emil-de")
MORE_PAIRS = {STARTED: 0, RETURNED: 2, IN_THE_MIDDLE: 4}
"""How many pairs beyond their first batch each has answered in the half judged comparison."""
SEEDS_FROM_THE_FRONT = (581867, 1518767, 2032802, 2049463, 2352428)
"""The first number drawn with each is nearly 0, so that a batch begins at the front of a comparison's order."""
TYPICAL_S = 11.0
PLAINLY_WRONG = 0


class ModelPair(NamedTuple):
    language: str
    base: str
    test: str


HALF_JUDGED = ModelPair("de", BRIEF, RICH)
JUDGED = (ModelPair("de", WOBBLY, RICH), ModelPair("de", WOBBLY, BRIEF))
UNTOUCHED = (ModelPair("ar", BRIEF, RICH), ModelPair("hi", BRIEF, RICH), ModelPair("ja", BRIEF, RICH))


def load(*, project: Project, people: Mapping[str, User], clock: Clock) -> None:
    """Fill the comparisons of the project, and make what is missing of their judgements."""
    made = {versus: _comparison(versus, project) for versus in (HALF_JUDGED, *JUDGED, *UNTOUCHED)}
    for days, versus in enumerate(JUDGED, start=1):
        for hours, username in enumerate(RATERS):
            began_at = clock() - timedelta(days=days, hours=hours)
            _judge_all(made[versus], people[username], versus, began_at)
    _judge_half(made[HALF_JUDGED], people, clock() - timedelta(hours=3))


def import_models(collection: Collection, folder: Path, clock: Clock) -> None:
    for language, captions in CAPTIONS.items():
        for index, model in enumerate(MODELS):
            texts = {key: text[index] for key, text in captions.items() if index < len(text)}
            if texts:
                import_captions(
                    model=model,
                    description=f"{DESCRIPTIONS[model]} {DISCLAIMER}",
                    language=language,
                    captions=texts,
                    collection=collection,
                    folder=folder,
                    clock=clock,
                )


def _comparison(versus: ModelPair, project: Project) -> Comparison:
    of_models = Comparison.objects.filter(project=project, base__name=versus.base, test__name=versus.test)
    comparison = of_models.select_related("pool", "language").get(language=versus.language)
    if comparison.awaits_pairs:
        fill_comparison(comparison_id=comparison.pk)
        _look_through_gold_pairs(comparison)
    return comparison


def _look_through_gold_pairs(comparison: Comparison) -> None:
    """Switch off, as a manager would, gold pairs whose better caption is as wrong as the worse one."""
    captions = CAPTIONS[comparison.language_id]
    wrong = {
        text
        for key, texts in captions.items()
        for text, quality in zip(texts, TEXTS[key].quality, strict=False)
        if quality == PLAINLY_WRONG
    }
    for gold in comparison.gold_pairs.filter(better__in=wrong):
        use_gold_pair(comparison=comparison, gold_id=gold.pk, is_used=False)


def _judge_all(comparison: Comparison, rater: User, versus: ModelPair, now: datetime) -> None:
    if _has_had_a_batch(comparison, rater):
        return
    rng = Random(f"{SEED} {versus} {rater.username}")
    while batch := judging.take_batch(comparison=comparison, person=rater, now=now, rng=rng):
        now = _answer(batch, rater, versus, now=now, rng=rng)


def _judge_half(comparison: Comparison, people: Mapping[str, User], now: datetime) -> None:
    """Let all judge the same batch first: its pairs have all their judgements, others some or none."""
    seeds = iter(SEEDS_FROM_THE_FRONT)
    for username, pairs in MORE_PAIRS.items():
        rater = people[username]
        sittings = [None, pairs] if pairs else [None]
        rngs = [Random(next(seeds)) for _sitting in sittings]
        if _has_had_a_batch(comparison, rater):
            continue
        end = now
        for up_to, rng in zip(sittings, rngs, strict=True):
            end = _sit(comparison, rater, up_to, now=end, rng=rng)


def _sit(comparison: Comparison, rater: User, pairs: int | None, *, now: datetime, rng: Random) -> datetime:
    batch = judging.take_batch(comparison=comparison, person=rater, now=now, rng=rng)
    if batch is None:
        return now
    end = _answer(batch, rater, HALF_JUDGED, now=now, rng=rng, pairs=pairs)
    if pairs and rater.username == RETURNED:
        judging.return_batch(batch_id=batch.pk, person=rater, now=end)
    return end


def _has_had_a_batch(comparison: Comparison, rater: User) -> bool:
    return JudgingBatch.objects.filter(comparison=comparison, lease__person=rater).exists()


def _answer(
    batch: JudgingBatch, rater: User, versus: ModelPair, *, now: datetime, rng: Random, pairs: int | None = None
) -> datetime:
    """Answer a batch to its end, or so many `pairs` of it; return the time then."""
    keys = dict(batch.comparison.collection.entries.values_list("image_id", "key"))
    scores: dict[int | None, int] = dict(_scores(batch.comparison, rater))
    for trial in batch.judgements.select_related("pair").order_by("position"):
        if pairs is not None and trial.kind == TrialKind.PAIR:
            if not pairs:
                break
            pairs -= 1
        score = scores[trial.pair_id] = _score(trial, scores, keys, versus, rng)
        taken = timedelta(seconds=rng.lognormvariate(math.log(TYPICAL_S), 0.4))
        now += taken
        judging.judge(
            batch_id=batch.pk,
            person=rater,
            position=trial.position,
            choice=score if trial.test_is_left else -score,
            active_ms=int(taken.total_seconds() * 1000),
            now=now,
        )
    return now


def _scores(comparison: Comparison, rater: User) -> list[tuple[int | None, int]]:
    answered = Judgement.objects.filter(comparison=comparison, person=rater, kind=TrialKind.PAIR, score__isnull=False)
    return [(pair, score) for pair, score in answered.values_list("pair", "score") if score is not None]


def _score(
    trial: Judgement, scores: Mapping[int | None, int], keys: Mapping[int, str], versus: ModelPair, rng: Random
) -> int:
    if trial.pair is None:
        return rng.choice((2, 3, 3))
    if trial.kind == TrialKind.REPEAT:
        return _on_scale(scores[trial.pair_id] + rng.gauss(0, 0.6))
    quality = TEXTS[keys[trial.pair.image_id]].quality
    difference = quality[MODELS.index(versus.test)] - quality[MODELS.index(versus.base)]
    return _on_scale(0.7 * difference + rng.gauss(0, 1))


def _on_scale(score: float) -> int:
    return max(-3, min(3, round(score)))
