"""Members of a project, addresses of its comparisons, and batches that are judged."""

from __future__ import annotations

from random import Random
from typing import Any

from django.urls import reverse

from core.people.models import Membership, Project, Role, User
from sxs_eval.models import Comparison
from sxs_eval.services import judging
from tests.factories import NOW, make_user


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


def judge_all(comparison: Comparison, rater: User) -> None:
    """Take a batch and find both captions of each pair equally good."""
    batch = judging.take_batch(comparison=comparison, person=rater, now=NOW, rng=Random(1))
    for position in batch.judgements.values_list("position", flat=True):
        judging.judge(batch_id=batch.pk, person=rater, position=position, choice=0, now=NOW)
