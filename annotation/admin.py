"""The installer's view: everything can be looked up; it changes by the services alone, which hold the rules."""

from __future__ import annotations

from django.contrib import admin

from annotation.models import Caption, CaptionBatch, CaptionTask, Guidelines, Item, Round
from people.admin import LookUpAdmin


@admin.register(Guidelines)
class GuidelinesAdmin(LookUpAdmin):
    list_display = ("project", "version", "created_at", "created_by")
    list_filter = ("project",)
    list_select_related = ("project", "created_by")


@admin.register(Round)
class RoundAdmin(LookUpAdmin):
    list_display = ("project", "language", "kind", "number", "collection", "pool__replication", "awaits_tasks")
    list_filter = ("project", "kind")
    list_select_related = ("project", "language", "collection")


@admin.register(CaptionTask)
class CaptionTaskAdmin(LookUpAdmin):
    list_display = ("task", "round", "image")
    list_select_related = ("task", "round__project", "round__language", "image")


@admin.register(CaptionBatch)
class CaptionBatchAdmin(LookUpAdmin):
    list_display = ("batch", "round", "stage", "writing_opened_at", "submitted_at")
    list_filter = ("stage", "round__project")
    list_select_related = ("batch", "round__project", "round__language")


@admin.register(Item)
class ItemAdmin(LookUpAdmin):
    list_display = ("batch", "position", "person", "rating", "revision", "saved_at")
    list_select_related = ("batch", "person")


@admin.register(Caption)
class CaptionAdmin(LookUpAdmin):
    list_display = ("text", "round", "author", "state", "submitted_at")
    list_filter = ("state", "round__project")
    search_fields = ("text",)
    list_select_related = ("round__project", "round__language", "author")
