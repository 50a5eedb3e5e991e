"""Sentences that were skipped: how often, why, and the players' notes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from gapgame.models import GapItem, Season, SkipReason, Turn, TurnOutcome

PER_PAGE = 25
MAX_NOTES = 10


Counts = list[tuple[str, int]]
Notes = list[tuple[str, str]]


def skips_page(season: Season, *, number: str) -> tuple[Page[GapItem], list[tuple[GapItem, Counts, Notes]]]:
    """List sentences with reasons and the newest notes, those skipped most often first, those switched off last."""
    skips = Q(turns__outcome=TurnOutcome.SKIPPED, turns__player__season=season)
    seen = Q(turns__opened_at__isnull=False, turns__player__season=season)
    skipped: QuerySet[GapItem] = (
        GapItem.objects.filter(pk__in=_skipped(season).values("item"))
        .select_related("language")
        .annotate(skips=Count("turns", filter=skips), seen=Count("turns", filter=seen))
        .order_by("-is_used", "-skips", "pk")
    )
    page = Paginator(skipped, PER_PAGE).get_page(number)
    items = list(page.object_list)
    reasons, notes = _reasons(season, items), _notes(season, items)
    return page, [(item, reasons.get(item.pk, []), notes.get(item.pk, [])) for item in items]


def _skipped(season: Season) -> QuerySet[Turn]:
    return Turn.objects.filter(outcome=TurnOutcome.SKIPPED, player__season=season).order_by()


def _reasons(season: Season, items: Sequence[GapItem]) -> Mapping[int, Counts]:
    counted: dict[int, Counter[str]] = defaultdict(Counter)
    rows = _skipped(season).filter(item__in=items).values_list("item", "skip_reason").annotate(Count("pk"))
    for item, reason, number in rows:
        counted[item][reason] = number
    labels = dict(SkipReason.choices)
    return {
        item: [(str(labels.get(reason, reason)), number) for reason, number in counts.most_common()]
        for item, counts in counted.items()
    }


def _notes(season: Season, items: Sequence[GapItem]) -> Mapping[int, Notes]:
    """Return notes with their reasons, without names."""
    notes: dict[int, Notes] = defaultdict(list)
    labels = dict(SkipReason.choices)
    written = _skipped(season).filter(item__in=items).exclude(skip_note="").order_by("-finished_at", "pk")
    for item, reason, note in written.values_list("item", "skip_reason", "skip_note"):
        if len(notes[item]) < MAX_NOTES:
            notes[item].append((note, str(labels.get(reason, reason))))
    return notes
