"""The installer's view: everything but captions can be looked up; it changes by the services alone."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from sxs_eval.models import Comparison, GoldPair, Instructions, Judgement, JudgingBatch, Pair, Standing


class LookUpOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, row: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, row: Any = None) -> bool:
        return False


@admin.register(Instructions)
class InstructionsAdmin(LookUpOnly):
    list_display = ("project", "version", "created_at", "created_by")
    list_filter = ("project",)
    list_select_related = ("project", "created_by")


@admin.register(Comparison)
class ComparisonAdmin(LookUpOnly):
    list_display = ("project", "language", "base", "test", "collection", "pool__replication", "awaits_pairs")
    list_filter = ("project",)
    list_select_related = ("project", "language", "base", "test", "collection")


@admin.register(Pair)
class PairAdmin(LookUpOnly):
    list_display = ("pk", "comparison", "image", "task")
    list_select_related = ("comparison", "image", "task")


@admin.register(GoldPair)
class GoldPairAdmin(LookUpOnly):
    list_display = ("pk", "comparison", "image", "is_used")
    fields = ("comparison", "image", "is_used")
    list_filter = ("is_used",)
    list_select_related = ("comparison", "image")


@admin.register(JudgingBatch)
class JudgingBatchAdmin(LookUpOnly):
    list_display = ("batch", "comparison", "instructions")
    list_select_related = ("batch", "comparison", "instructions")


@admin.register(Judgement)
class JudgementAdmin(LookUpOnly):
    list_display = ("pk", "comparison", "person", "kind", "score", "is_late", "judged_at")
    list_filter = ("kind", "is_late", "comparison__project")
    list_select_related = ("comparison", "person")


@admin.register(Standing)
class StandingAdmin(LookUpOnly):
    list_display = ("comparison", "person", "state", "paused_at", "decided_by", "decided_at")
    list_filter = ("state", "comparison__project")
    list_select_related = ("comparison", "person", "decided_by")
