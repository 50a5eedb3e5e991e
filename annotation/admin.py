"""Admin pages that show every row. Changes go through the services, which enforce the rules."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model

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


def _look_up(model: type[Model], *shown: str, filters: tuple[str, ...] = (), **options: Any) -> None:
    """Register a model to be looked up, in these columns; rows that they name come with the same query."""
    related = [field.name for field in model._meta.concrete_fields if field.is_relation and field.name in shown]
    options |= {"list_display": shown, "list_filter": filters, "list_select_related": related}
    admin.site.register(model, LookUpAdmin, **options)


_look_up(Guidelines, "project", "version", "created_at", "created_by", filters=("project",))
_look_up(GuidelineExample, "guidelines", "position", "image")
_look_up(
    Round,
    *("project", "language", "kind", "number", "state", "collection", "pool__replication", "awaits_tasks"),
    filters=("project", "kind", "state"),
)
_look_up(CaptionTask, "task", "round", "image")
_look_up(
    CaptionBatch,
    *("lease", "round", "stage", "writing_opened_at", "submitted_at"),
    filters=("stage", "round__project"),
)
_look_up(CaptionItem, "batch", "position", "person", "rating", "revision", "saved_at")
_look_up(
    Caption,
    *("text", "round", "author", "state", "submitted_at"),
    filters=("state", "round__project"),
    search_fields=("text",),
)
_look_up(CorrectionRequest, "caption", "by", "at", "answered_at")
_look_up(SpotCheck, "caption", "by", "at", "is_rating_right", "level")
_look_up(Feedback, "round", "person", "by", "at", "acknowledged_at", filters=("project",))
_look_up(AnnotatorStatus, "project", "language", "person", "state", "by", "at", filters=("project", "state"))
_look_up(Exclusion, "project", "language", "person", "captions", "by", "at", "undone_at", filters=("project",))
_look_up(Tally, "round", "person", "batches", "captions", "late", "last_at", filters=("round__project",))
_look_up(RoundFigures, "round", "tasks", "wanted", "is_stale", "computed_at", filters=("is_stale",))
_look_up(VerificationTask, "task", "round", "caption")
_look_up(VerificationBatch, "lease", "round", "submitted_at", filters=("round__project",))
_look_up(Verdict, "batch", "position", "person", "caption", "rating", "rated_at")
# Without the salt, which would link pseudonyms to people.
_look_up(
    Release,
    *("project", "number", "title", "state", "until", "created_by", "finished_at"),
    filters=("project", "state"),
    exclude=("salt",),
)
