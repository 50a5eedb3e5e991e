"""Whose answers look scripted, by the server's clock: the times that a browser sends are not used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db.models.functions import Coalesce, Length

from sxs_eval.models import Comparison, Judgement
from sxs_eval.rules.scripted import JudgingScriptRule, reading_s, rules_broken


def scripted_raters(comparison: Comparison) -> dict[int, Mapping[JudgingScriptRule, str]]:
    """Return the rules that raters' answers break, by rater, if any."""
    of_both = Coalesce(
        Length("pair__base_caption__text") + Length("pair__test_caption__text"),
        Length("gold__better") + Length("gold__worse"),
    )
    answers = Judgement.objects.filter(comparison=comparison, judged_at__isnull=False).annotate(length=of_both)
    in_order = answers.order_by("judged_at", "position")
    scripts = comparison.language.scripts
    before: dict[UUID, datetime] = {}
    seconds: dict[int, list[float]] = defaultdict(list)
    reading: dict[int, list[float]] = defaultdict(list)
    columns = ("person", "batch", "judged_at", "batch__lease__taken_at", "length")
    for person, batch, judged_at, taken_at, length in in_order.values_list(*columns).iterator():
        assert judged_at is not None
        seconds[person].append((judged_at - before.get(batch, taken_at)).total_seconds())
        reading[person].append(reading_s(length, scripts))
        before[batch] = judged_at
    return {person: broken for person, taken in seconds.items() if (broken := rules_broken(taken, reading[person]))}
