"""What each rater did in each language of a project, over all its comparisons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from core.people.models import Project
from sxs_eval.models import Judgement, TrialKind
from sxs_eval.rules.judging import has_failed


@dataclass
class JudgingDone:
    """`judgements` counts answers to pairs that were not late; the time is of these and of attention items."""

    judgements: int = 0
    active_ms: int = 0
    checks: int = 0
    passed: int = 0


def judging_done(project: Project) -> Mapping[tuple[int, str], JudgingDone]:
    """Return the work of everybody who judged a pair, by person and language tag, in two queries."""
    done: dict[tuple[int, str], JudgingDone] = defaultdict(JudgingDone)
    answers = Judgement.objects.filter(comparison__project=project, choice__isnull=False, is_late=False).order_by()
    where = ("person", "comparison__language")
    sums = answers.values_list(*where).annotate(pairs=Count("pk", filter=Q(kind=TrialKind.PAIR)), time=Sum("active_ms"))
    for person, tag, count, active_ms in sums:
        done[person, tag].judgements, done[person, tag].active_ms = count, active_ms
    checks = answers.exclude(kind=TrialKind.PAIR).values_list(*where, "kind", "score", "repeated__score")
    for person, tag, kind, score, first_score, count in checks.annotate(Count("pk")):
        done[person, tag].checks += count
        done[person, tag].passed += 0 if has_failed(kind, score, first_score) else count
    return done
