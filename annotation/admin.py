"""Admin pages that show every row. Changes go through the services, which enforce the rules."""

from __future__ import annotations

from annotation.models import (
    AnnotatorStatus,
    Caption,
    CaptionBatch,
    CaptionItem,
    CaptionTask,
    CorrectionRequest,
    DetailDecision,
    Exclusion,
    Feedback,
    Gloss,
    GlossRequest,
    GuidelineExample,
    Guidelines,
    Release,
    Round,
    RoundFigures,
    SecondReading,
    SpotCheck,
    Tally,
    Verdict,
    VerificationBatch,
    VerificationTask,
)
from core.people.admin import look_up

look_up(Guidelines, "project", "version", "created_at", "created_by", list_filter=("project",))
look_up(GuidelineExample, "guidelines", "position", "image")
look_up(
    Round,
    *("project", "language", "kind", "number", "state", "collection", "pool__replication", "awaits_tasks"),
    list_filter=("project", "kind", "state"),
)
look_up(CaptionTask, "task", "round", "image")
look_up(
    CaptionBatch,
    *("lease", "round", "stage", "writing_opened_at", "submitted_at"),
    list_filter=("stage", "round__project"),
)
look_up(CaptionItem, "batch", "position", "person", "rating", "revision", "saved_at")
look_up(
    Caption,
    *("text", "round", "author", "state", "submitted_at"),
    list_filter=("state", "round__project"),
    search_fields=("text",),
)
look_up(CorrectionRequest, "caption", "by", "at", "answered_at")
look_up(SpotCheck, "caption", "by", "at", "is_rating_right", "level")
look_up(Gloss, "caption", "translator", "version", "made_at")
look_up(GlossRequest, "project", "language", "translator", "keeps_up", "state", "asked_by", "asked_at")
look_up(SecondReading, "caption", "reader", "asked_by", "asked_at", "answer", "answered_at")
look_up(DetailDecision, "caption", "by", "at", "is_left_out")
look_up(Feedback, "round", "person", "by", "at", "acknowledged_at", list_filter=("project",))
look_up(AnnotatorStatus, "project", "language", "person", "state", "by", "at", list_filter=("project", "state"))
look_up(Exclusion, "project", "language", "person", "captions", "by", "at", "undone_at", list_filter=("project",))
look_up(Tally, "round", "person", "batches", "captions", "late", "last_at", list_filter=("round__project",))
look_up(RoundFigures, "round", "tasks", "wanted", "is_stale", "computed_at", list_filter=("is_stale",))
look_up(VerificationTask, "task", "round", "caption")
look_up(VerificationBatch, "lease", "round", "submitted_at", list_filter=("round__project",))
look_up(Verdict, "batch", "position", "person", "caption", "rating", "rated_at")
# Without the salt, which would link pseudonyms to people.
look_up(
    Release,
    *("project", "number", "title", "state", "until", "created_by", "finished_at"),
    list_filter=("project", "state"),
    exclude=("salt",),
)
