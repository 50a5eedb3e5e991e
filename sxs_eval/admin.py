"""Admin pages that show every row except captions. Changes go through the services."""

from __future__ import annotations

from core.people.admin import look_up
from sxs_eval.models import Comparison, GoldPair, Instructions, Judgement, JudgingBatch, Pair, RaterStatus

look_up(Instructions, "project", "version", "created_at", "created_by", list_filter=("project",))
look_up(
    Comparison, "project", "language", "base", "test", "collection", "pool__replication", "awaits_pairs",
    list_filter=("project",),
)  # fmt: skip
look_up(Pair, "pk", "comparison", "image", "task")
look_up(
    GoldPair, "pk", "comparison", "image", "is_used",
    fields=("comparison", "image", "is_used"), list_filter=("is_used",),
)  # fmt: skip
look_up(JudgingBatch, "lease", "comparison", "instructions")
look_up(
    Judgement, "pk", "comparison", "person", "kind", "score", "is_late", "judged_at",
    list_filter=("kind", "is_late", "comparison__project"),
)  # fmt: skip
look_up(
    RaterStatus, "comparison", "person", "state", "paused_at", "decided_by", "decided_at",
    list_filter=("state", "comparison__project"),
)  # fmt: skip
