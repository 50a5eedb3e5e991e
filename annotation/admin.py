"""Admin pages that show every row. Changes go through the services, which enforce the rules."""

from __future__ import annotations

from django.contrib import admin

from annotation.models import (
    AnnotatorStatus,
    Caption,
    CaptionBatch,
    CaptionItem,
    CaptionTask,
    CorrectionRequest,
    Exclusion,
    Feedback,
    GuidelineExample,
    Guidelines,
    Release,
    Round,
    RoundFigures,
    SpotCheck,
    Tally,
    Verdict,
    VerificationBatch,
    VerificationTask,
)
from core.people.admin import LookUpAdmin


@admin.register(Guidelines)
class GuidelinesAdmin(LookUpAdmin):
    list_display = ("project", "version", "created_at", "created_by")
    list_filter = ("project",)
    list_select_related = ("project", "created_by")


@admin.register(Round)
class RoundAdmin(LookUpAdmin):
    list_display = ("project", "language", "kind", "number", "state", "collection", "pool__replication", "awaits_tasks")
    list_filter = ("project", "kind", "state")
    list_select_related = ("project", "language", "collection")


@admin.register(CaptionTask)
class CaptionTaskAdmin(LookUpAdmin):
    list_display = ("task", "round", "image")
    list_select_related = ("task", "round__project", "round__language", "image")


@admin.register(CaptionBatch)
class CaptionBatchAdmin(LookUpAdmin):
    list_display = ("lease", "round", "stage", "writing_opened_at", "submitted_at")
    list_filter = ("stage", "round__project")
    list_select_related = ("lease", "round__project", "round__language")


@admin.register(CaptionItem)
class ItemAdmin(LookUpAdmin):
    list_display = ("batch", "position", "person", "rating", "revision", "saved_at")
    list_select_related = ("batch", "person")


@admin.register(Caption)
class CaptionAdmin(LookUpAdmin):
    list_display = ("text", "round", "author", "state", "submitted_at")
    list_filter = ("state", "round__project")
    search_fields = ("text",)
    list_select_related = ("round__project", "round__language", "author")


@admin.register(GuidelineExample)
class GuidelineExampleAdmin(LookUpAdmin):
    list_display = ("guidelines", "position", "image")
    list_select_related = ("guidelines__project", "image")


@admin.register(CorrectionRequest)
class CorrectionRequestAdmin(LookUpAdmin):
    list_display = ("caption", "by", "at", "answered_at")
    list_select_related = ("caption", "by")


@admin.register(SpotCheck)
class SpotCheckAdmin(LookUpAdmin):
    list_display = ("caption", "by", "at", "is_rating_right", "level")
    list_select_related = ("caption", "by")


@admin.register(Feedback)
class FeedbackAdmin(LookUpAdmin):
    list_display = ("round", "person", "by", "at", "acknowledged_at")
    list_filter = ("project",)
    list_select_related = ("round__project", "round__language", "person", "by")


@admin.register(AnnotatorStatus)
class AnnotatorStatusAdmin(LookUpAdmin):
    list_display = ("project", "language", "person", "state", "by", "at")
    list_filter = ("project", "state")
    list_select_related = ("project", "language", "person", "by")


@admin.register(Exclusion)
class ExclusionAdmin(LookUpAdmin):
    list_display = ("project", "language", "person", "captions", "by", "at", "undone_at")
    list_filter = ("project",)
    list_select_related = ("project", "language", "person", "by")


@admin.register(Tally)
class TallyAdmin(LookUpAdmin):
    list_display = ("round", "person", "batches", "captions", "late", "last_at")
    list_filter = ("round__project",)
    list_select_related = ("round__project", "round__language", "person")


@admin.register(RoundFigures)
class RoundFiguresAdmin(LookUpAdmin):
    list_display = ("round", "tasks", "wanted", "is_stale", "computed_at")
    list_filter = ("is_stale",)
    list_select_related = ("round__project", "round__language")


@admin.register(VerificationTask)
class VerificationTaskAdmin(LookUpAdmin):
    list_display = ("task", "round", "caption")
    list_select_related = ("task", "round__project", "round__language", "caption")


@admin.register(VerificationBatch)
class VerificationBatchAdmin(LookUpAdmin):
    list_display = ("lease", "round", "submitted_at")
    list_filter = ("round__project",)
    list_select_related = ("lease", "round__project", "round__language")


@admin.register(Verdict)
class VerdictAdmin(LookUpAdmin):
    list_display = ("batch", "position", "person", "caption", "rating", "rated_at")
    list_select_related = ("batch", "person", "caption")


@admin.register(Release)
class ReleaseAdmin(LookUpAdmin):
    """Hide the salt: it would link pseudonyms to people."""

    list_display = ("project", "number", "title", "state", "until", "created_by", "finished_at")
    exclude = ("salt",)
    list_filter = ("project", "state")
    list_select_related = ("project", "created_by")
