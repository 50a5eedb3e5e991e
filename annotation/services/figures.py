"""Figures of a round that pages do not compute: its places, agreement, captions per image.

The services that change places keep their number. The rest is computed in the background, a round at a time, from what
was submitted by then; it blocks nobody.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import BigIntegerField, Case, Count, Exists, F, OuterRef, Q, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce

from annotation.models import Caption, CaptionState, Round, RoundFigures, RoundKind, Tally
from annotation.rules.tallies import sums_as_json, total_sums
from annotation.selectors.figures import SUMS, tallies_of
from annotation.selectors.quality import QUALITY
from annotation.selectors.statistics import statistics_in
from annotation.selectors.verification_figures import figures_of
from core.allocation.models import Batch, BatchState, Pool, Task
from crosslens_metrics.quality import CODES
from crosslens_metrics.shared_ratings import RatingAgreement, agreement, agreement_of_each
from crosslens_metrics.undefined import UndefinedReason

_log = logging.getLogger(__name__)
PAUSE_BETWEEN_FIGURES = timedelta(seconds=50)
"""(ours) The shortest time between two computations for a round that keeps changing."""
LEASE = timedelta(minutes=10)
"""(ours) Longer than the largest round takes. After it, another worker computes a round whose worker died."""
ROUNDS_AT_ONCE = 200


def places_changed(*, round: Round) -> None:
    """Store how many tasks a round has and how many answers they need; call within the transaction that changed it."""
    wanted: Sum = Sum("places")
    if round.kind == RoundKind.VERIFICATION:
        # Captions that are rated but no longer count need no further rating.
        is_gone = Q(verification_task__isnull=False) & ~Q(verification_task__caption__state=CaptionState.COUNTED)
        wanted = Sum(Case(When(is_gone, then=F("places_taken")), default=F("places")))
    counted = Task.objects.filter(pool=round.pool_id).aggregate(tasks=Count("pk"), wanted=wanted)
    places = RoundFigures(round=round, tasks=counted["tasks"], wanted=counted["wanted"] or 0)
    RoundFigures.objects.bulk_create(
        [places], update_conflicts=True, unique_fields=["round"], update_fields=["tasks", "wanted"]
    )


def stale_rounds(*, now: datetime) -> list[int]:
    """Return rounds whose figures need computing, or whose places may have gone down since replication was lowered.

    One that failed, or whose worker died, comes after the others. While one is being computed there are none, so that
    sweeps do not pile up.
    """
    if RoundFigures.objects.filter(lease_until__gt=now).exists():
        return []
    revised = Tally.objects.filter(round=OuterRef("pk")).order_by().values("round").annotate(sum=Sum("revision"))
    revision = Coalesce(Subquery(revised.values("sum")), Value(0), output_field=BigIntegerField())
    # Rows written during the computation may be dated before it.
    left = Batch.objects.filter(
        pool=OuterRef("pool"),
        state__in=[BatchState.RETURNED, BatchState.EXPIRED],
        closed_at__gt=OuterRef("figures__computed_at") - PAUSE_BETWEEN_FIGURES,
    )
    is_odd = ~Q(figures__wanted=F("figures__tasks") * F("pool__replication"))
    changed = (
        Q(figures__isnull=True)
        | Q(figures__is_stale=True)
        | Q(figures__lease_until__isnull=False)
        | ~Q(figures__revision=F("revised"))
        | (is_odd & Exists(left))
    )
    resting = Q(figures__computed_at__gt=now - PAUSE_BETWEEN_FIGURES) | Q(
        figures__lease_until__gt=now - PAUSE_BETWEEN_FIGURES
    )
    rounds = Round.objects.annotate(revised=revision).filter(changed).exclude(resting)
    longest_waiting = [F(f"figures__{name}").asc(nulls_first=True) for name in ("lease_until", "computed_at")]
    return list(rounds.order_by(*longest_waiting, "pk").values_list("pk", flat=True)[:ROUNDS_AT_ONCE])


def compute(*, round_id: int, now: datetime) -> None:
    """Compute the figures of a round, unless somebody else is doing so. Errors are logged."""
    round = Round.objects.select_related("project", "language", "verifies").get(pk=round_id)
    RoundFigures.objects.get_or_create(round=round)
    until = now + LEASE
    free = RoundFigures.objects.filter(Q(lease_until=None) | Q(lease_until__lte=now), pk=round_id)
    # Claim it before reading: later changes mark it stale, or raise the revision, again.
    if not free.update(is_stale=False, lease_until=until):
        return
    revision = Tally.objects.filter(round=round).aggregate(sum=Sum("revision"))["sum"] or 0
    held = RoundFigures.objects.filter(pk=round_id, lease_until=until)
    try:
        figures = _figures(round)
    except Exception:
        _log.exception("The figures of round %s could not be computed", round_id)
        held.update(lease_until=now)
        return
    held.update(figures=figures, revision=revision, computed_at=now, lease_until=None)
    _check_places(round)


def _check_places(round: Round) -> None:
    """Count places again: when somebody gives up a place above a lowered replication, nothing else notices.

    Services that add tasks or change replication lock one of these rows and store the places; then there is nothing to
    do.
    """
    with transaction.atomic():
        is_free = (
            RoundFigures.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=round.pk).exists()
            and Pool.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=round.pool_id).exists()
        )
        if is_free:
            places_changed(round=round)


def _figures(round: Round) -> dict[str, Any]:
    everybody = tallies_of(Round.objects.filter(pk=round.pk))
    figures: dict[str, Any] = {SUMS: sums_as_json(total_sums(sums for _, sums in everybody))}
    if round.kind == RoundKind.VERIFICATION:
        return figures | {QUALITY: figures_of(round)}
    figures |= _agreement(round)
    figures["captions"] = Caption.objects.counted().filter(round=round).count()
    if round.kind == RoundKind.MAIN:
        figures["statistics"] = asdict(statistics_in(round.project, round.language))
    return figures


def _agreement(round: Round) -> dict[str, Any]:
    """Compute agreement from the ratings on screen 1 that different people gave to the same English caption."""
    rows = list(
        Caption.objects.in_results()
        .filter(round=round, item__isnull=False)
        .values_list("item__english", "author", "item__rating")
    )
    things, people, levels = zip(*rows, strict=True) if rows else ((), (), ())
    ratings = [CODES[level] for level in levels]
    return {
        "agreement": _stored(agreement(things, ratings)),
        "agreement_of": {
            str(pk): _stored(of_person) for pk, of_person in agreement_of_each(things, people, ratings).items()
        },
    }


def _stored(agreement: RatingAgreement) -> dict[str, Any]:
    is_defined = not isinstance(agreement.alpha, UndefinedReason)
    about = {"things": agreement.things, "pairs": agreement.pairs, "same": agreement.same}
    return {**about, "alpha": agreement.alpha if is_defined else None, "why": "" if is_defined else agreement.alpha}
