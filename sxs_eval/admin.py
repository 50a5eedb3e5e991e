"""Admin pages that show every row except captions. Changes go through the services."""

from __future__ import annotations

from django.contrib import admin

from core.people.admin import LookUpAdmin
from sxs_eval.models import Comparison, GoldPair, Instructions, Judgement, JudgingBatch, Pair, RaterStatus


@admin.register(Instructions)
class InstructionsAdmin(LookUpAdmin):
    list_display = ("project", "version", "created_at", "created_by")
    list_filter = ("project",)
    list_select_related = ("project", "created_by")


@admin.register(Comparison)
class ComparisonAdmin(LookUpAdmin):
    list_display = ("project", "language", "base", "test", "collection", "pool__replication", "awaits_pairs")
    list_filter = ("project",)
    list_select_related = ("project", "language", "base", "test", "collection")


@admin.register(Pair)
class PairAdmin(LookUpAdmin):
    list_display = ("pk", "comparison", "image", "task")
    list_select_related = ("comparison", "image", "task")


@admin.register(GoldPair)
class GoldPairAdmin(LookUpAdmin):
    list_display = ("pk", "comparison", "image", "is_used")
    fields = ("comparison", "image", "is_used")
    list_filter = ("is_used",)
    list_select_related = ("comparison", "image")


@admin.register(JudgingBatch)
class JudgingBatchAdmin(LookUpAdmin):
    list_display = ("lease", "comparison", "instructions")
    list_select_related = ("lease", "comparison", "instructions")


@admin.register(Judgement)
class JudgementAdmin(LookUpAdmin):
    list_display = ("pk", "comparison", "person", "kind", "score", "is_late", "judged_at")
    list_filter = ("kind", "is_late", "comparison__project")
    list_select_related = ("comparison", "person")


@admin.register(RaterStatus)
class RaterStatusAdmin(LookUpAdmin):
    list_display = ("comparison", "person", "state", "paused_at", "decided_by", "decided_at")
    list_filter = ("state", "comparison__project")
    list_select_related = ("comparison", "person", "decided_by")
