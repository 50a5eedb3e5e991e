"""What happens to judgements when a rater withdraws consent or deletes their account."""

from __future__ import annotations

from datetime import datetime

from core.allocation.models import Pool
from core.allocation.services.lifecycle import reject_all_work, return_all_work
from core.people.models import Project, User
from sxs_eval.models import LEFT_OUT, Comparison, Judgement, RaterState, RaterStatus, TrialKind


def withdraw_answers(*, project: Project, person: User, keeps_answers: bool, now: datetime) -> int:
    """Return `person`'s batches; unless answers are kept, exclude them all; return how many did count.

    Others then judge those pairs, and the person gets no more work in these comparisons.
    """
    pools = Pool.objects.filter(comparison__project=project)
    if keeps_answers:
        return_all_work(pools=pools, person=person, now=now)
        return 0
    left_out = RaterStatus.objects.filter(person=person, state__in=LEFT_OUT).values("comparison")
    answers = Judgement.objects.filter(comparison__project=project, person=person)
    counted = answers.filter(kind=TrialKind.PAIR, choice__isnull=False, is_late=False).exclude(comparison__in=left_out)
    removed = counted.count()
    reject_all_work(pools=pools, person=person, now=now)
    decided = {"state": RaterState.WITHDRAWN, "note": "", "decided_by": None, "decided_at": now}
    for comparison in Comparison.objects.filter(pk__in=answers.values("comparison")).order_by("pk"):
        RaterStatus.objects.update_or_create(comparison=comparison, person=person, defaults=decided)
    return removed


def forget(*, person: User, now: datetime) -> None:
    """Return all open batches of `person`."""
    return_all_work(pools=Pool.objects.filter(comparison__isnull=False), person=person, now=now)
