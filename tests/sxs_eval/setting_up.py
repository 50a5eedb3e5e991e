"""Members of a project, addresses of its comparisons, and batches that are judged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.urls import reverse

from core.people.models import Membership, Project, Role, User
from sxs_eval.models import Comparison, JudgingBatch
from sxs_eval.services import judging
from tests.factories import NOW, make_user
from tests.sxs_eval.judged import take

PACE = timedelta(seconds=20)


def member_of(project: Project, role: Role) -> User:
    member = make_user()
    Membership.objects.create(project=project, user=member, role=role)
    return member


def path_of(name: str, comparison: Comparison) -> str:
    slug = comparison.project.slug
    of_project: dict[str, list[Any]] = {
        "evaluation-list": [],
        "comparison-list": [slug],
        "comparisons-progress": [slug],
        "comparison-create": [slug],
        "instructions-publish": [slug],
        "gold-change": [slug, comparison.pk, getattr(comparison.gold_pairs.first(), "pk", 1)],
        "rater-decide": [slug, comparison.pk, 1],
    }
    return reverse(f"sxs_eval:{name}", args=of_project.get(name, [slug, comparison.pk]))


def judge_in_turn(comparison: Comparison, rater: User, choices: Sequence[int] = ()) -> JudgingBatch:
    """Answer the pairs of a batch, each 20 s after the one before, with 1, 2, 3… s of active time.

    Without `choices`, both captions of every pair are equally good.
    """
    batch = take(comparison, rater)
    for position, choice in enumerate(choices or [0] * batch.judgements.count(), start=1):
        now, active_ms = NOW + position * PACE, 1000 * position
        judging.judge(batch_id=batch.pk, person=rater, position=position, choice=choice, active_ms=active_ms, now=now)
    return batch
