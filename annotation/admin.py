"""The installer's view: everything can be looked up; it changes by the services alone, which hold the rules."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from annotation.models import Caption, CaptionBatch, CaptionTask, Guidelines, Item, Round


class LookUpOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, row: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, row: Any = None) -> bool:
        return False


@admin.register(Guidelines)
class GuidelinesAdmin(LookUpOnly):
    list_display = ("project", "version", "created_at", "created_by")
    list_filter = ("project",)
    list_select_related = ("project", "created_by")


@admin.register(Round)
class RoundAdmin(LookUpOnly):
    list_display = ("project", "language", "kind", "number", "collection", "pool__replication", "awaits_tasks")
    list_filter = ("project", "kind")
    list_select_related = ("project", "language", "collection")


@admin.register(CaptionTask)
class CaptionTaskAdmin(LookUpOnly):
    list_display = ("task", "round", "image")
    list_select_related = ("task", "round__project", "round__language", "image")


@admin.register(CaptionBatch)
class CaptionBatchAdmin(LookUpOnly):
    list_display = ("batch", "round", "stage", "writing_opened_at", "submitted_at")
    list_filter = ("stage", "round__project")
    list_select_related = ("batch", "round__project", "round__language")


@admin.register(Item)
class ItemAdmin(LookUpOnly):
    list_display = ("batch", "position", "person", "rating", "revision", "saved_at")
    list_select_related = ("batch", "person")


@admin.register(Caption)
class CaptionAdmin(LookUpOnly):
    list_display = ("text", "round", "author", "is_late", "submitted_at")
    list_filter = ("is_late", "round__project")
    search_fields = ("text",)
    list_select_related = ("round__project", "round__language", "author")
