"""Raters who say what a test wants, through the same services as everybody."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from html import unescape
from random import Random
from typing import Any

from django.utils.html import strip_tags

from core.images.models import Collection
from core.people.models import Project, User
from research.inference.models import CaptioningModel
from sxs_eval.models import Comparison, Judgement, JudgingBatch, TrialKind
from sxs_eval.selectors.across import results_of
from sxs_eval.selectors.results import report_of
from sxs_eval.services import judging
from tabular.tables import PageTable
from tests.factories import NOW, make_comparison, make_rater

PACE = timedelta(seconds=10)
LAST = 1000


def take(comparison: Comparison, rater: User, *, seed: int = 1, now: datetime = NOW) -> JudgingBatch:
    batch = judging.take_batch(comparison=comparison, person=rater, now=now, rng=Random(seed))
    assert batch is not None
    return batch


def answer(row: Judgement, score: int, *, comment: str = "", now: datetime = NOW, active_ms: int = 4000) -> Judgement:
    return judging.judge(
        batch_id=row.batch_id,
        person=row.person,
        position=row.position,
        choice=score if row.test_is_left else -score,
        comment=comment,
        active_ms=active_ms,
        now=now,
    )


def judge_all(
    comparison: Comparison,
    rater: User,
    scores: Mapping[str, int],
    *,
    seed: int = 1,
    gold: int = 3,
    again: int | None = None,
    comments: Mapping[str, str] | None = None,
) -> JudgingBatch:
    """A batch judged to its end: each image by its key with its score, gold pairs with `gold`, repeats with `again`.

    Images that `scores` does not name are given back.
    """
    keys = dict(comparison.collection.entries.values_list("image", "key"))
    batch = take(comparison, rater, seed=seed)
    rows = batch.judgements.select_related("pair", "person").order_by("position")
    for row in rows:
        if row.pair is not None and keys[row.pair.image_id] not in scores:
            # An answer has to wait for those before it.
            batch.judgements.filter(pk=row.pk).update(position=LAST + row.position)
    now = NOW
    for row in rows.filter(position__lte=LAST):
        now += PACE
        key = keys[row.pair.image_id] if row.pair else ""
        if row.kind == TrialKind.GOLD:
            score = gold
        elif row.kind == TrialKind.REPEAT and again is not None:
            score = again
        else:
            score = scores[key]
        answer(row, score, comment=(comments or {}).get(key, ""), now=now)
    judging.return_batch(batch_id=batch.pk, person=rater, now=now)
    return batch


def judged_once(
    project: Project, collection: Collection, base: CaptioningModel, test: CaptioningModel, scores: Sequence[int],
    **fields: Any,
) -> Comparison:  # fmt: skip
    """Compare two models by one rater, who gives the images of `collection` these scores, in their order."""
    models: dict[str, Any] = {"base": base, "test": test} | fields
    comparison = make_comparison(project=project, collection=collection, replication=1, **models)
    judge_all(comparison, make_rater(comparison), dict(zip(keys_of(comparison), scores, strict=False)))
    return comparison


def report(comparison: Comparison) -> Any:
    """Any, as each test knows which figures are there."""
    return report_of(comparison)


def results(project: Project, **options: Any) -> Any:
    return results_of(project, **options)


def text_of(response: Any) -> str:
    """What a reader sees, white space aside."""
    page = re.sub(r"<(title|desc)\b.*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def column_of(table: PageTable[Any], name: str) -> list[str]:
    """What a reader sees in a column of a page's table."""
    (column,) = (column for column in table.columns if column.name == name)
    return [strip_tags(str(column.shown(row))) for row in table]


def keys_of(comparison: Comparison) -> list[str]:
    return list(comparison.collection.entries.order_by("position").values_list("key", flat=True))
