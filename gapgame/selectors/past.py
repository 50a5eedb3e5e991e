"""A player's own record: finished turns with their words, and the results of batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.core.paginator import Page, Paginator
from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from gapgame.models import UNFINISHED, GameBatch, Player, Turn, TurnOutcome
from gapgame.rules.play import MICRO, points_shown
from gapgame.selectors.play import FOUND, TurnPage, turn_page

LOOKED_AT_AGAIN = 12
SHOWN = {"found": Q(outcome__in=FOUND), "missed": Q(outcome__in=[TurnOutcome.FAILED, TurnOutcome.CUT_OFF])}


@dataclass(frozen=True)
class BatchSummary:
    """The result of a batch. `tallies`: how many turns ended how, the words found first.

    `nearest` is the closest wrong guess, if any: guess, word, percentage.

    `best_before`: the points of the best earlier batch of the same size; None if there is none. `again`: the first
    turns whose word was not found, to look at once more; `more_missed` counts the others.
    """

    batch: GameBatch
    size: int
    tallies: Mapping[str, int]
    points: int
    best_before: int | None
    best_streak: int
    nearest: tuple[str, str, int] | None
    again: list[Turn]
    more_missed: int


def past_turns(
    player: Player, show: str, page: str | None, *, per_page: int, now: datetime
) -> tuple[Page[Turn], list[TurnPage]]:
    """A page of finished turns, the last one first; `show` is "found", "missed" or anything else for all."""
    finished = Turn.objects.filter(player=player).exclude(outcome__in=UNFINISHED).filter(SHOWN.get(show, Q()))
    matching = finished.select_related("player", "batch", "item__language").prefetch_related("attempts")
    turns = Paginator(matching.order_by("-finished_at", "-batch__number", "-position"), per_page).get_page(page)
    return turns, [turn_page(turn, now=now) for turn in turns.object_list]


def last_batch(player: Player) -> BatchSummary | None:
    """Return the player's newest batch, if it is done."""
    batch = player.batches.order_by("-number").first()
    if batch is None or batch.all_turns.filter(outcome__in=UNFINISHED).exists():
        return None
    turns: QuerySet[Turn] = batch.all_turns.all()
    counts = turns.aggregate(
        size=Count("pk"),
        score=Sum("score"),
        **{outcome.value: Count("pk", filter=Q(outcome=outcome)) for outcome in TurnOutcome},
    )
    missed = counts["failed"] + counts["cut_off"]
    tallies = {
        _("At the first guess"): counts["attempt_1"],
        _("At the second guess"): counts["attempt_2"],
        _("At the third guess"): counts["attempt_3"],
        _("Not found"): missed,
        _("Skipped"): counts["skipped"],
    }
    return BatchSummary(
        batch=batch,
        size=counts["size"],
        tallies=tallies,
        points=points_shown(counts["score"] or 0),
        best_before=_best_before(batch, counts["size"]),
        best_streak=_best_streak(turns),
        nearest=_nearest(turns),
        again=list(
            turns.filter(SHOWN["missed"]).select_related("item__language").order_by("position")[:LOOKED_AT_AGAIN]
        ),
        more_missed=max(0, missed - LOOKED_AT_AGAIN),
    )


def _best_before(batch: GameBatch, size: int) -> int | None:
    earlier = GameBatch.objects.filter(player=batch.player_id, number__lt=batch.number)
    totals = earlier.annotate(size=Count("all_turns"), total=Sum("all_turns__score")).filter(size=size)
    best = totals.aggregate(best=Max("total"))["best"]
    return None if best is None else points_shown(best)


def _best_streak(turns: QuerySet[Turn]) -> int:
    """Count words found in a row within the batch; a skipped sentence ends the row."""
    outcomes = turns.exclude(outcome=TurnOutcome.SKIPPED).order_by("position").values_list("outcome", flat=True)
    return max((len(list(run)) for is_found, run in groupby(outcomes, FOUND.__contains__) if is_found), default=0)


def _nearest(turns: QuerySet[Turn]) -> tuple[str, str, int] | None:
    """Return guess, word and percentage of the closest wrong guess; skipped sentences keep their words secret."""
    known = turns.exclude(outcome=TurnOutcome.SKIPPED)
    best = known.aggregate(best=Max("attempts__similarity", filter=Q(attempts__similarity__lt=MICRO)))["best"]
    if not best:
        return None
    guesses = known.filter(attempts__similarity=best).values_list("attempts__guess", "item__word").order_by("position")
    guess, word = guesses[0]
    return guess, word, 100 * best // MICRO
