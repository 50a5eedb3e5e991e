"""The installer's view of references and scores: to be looked up only. No list shows a caption's words."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from core.people.admin import LookUpAdmin, look_up
from research.scoring.models import Pass, ReferenceSet, ReferenceTranslation, Score, Scoring

look_up(
    ReferenceSet, "name", "project", "language", "collection", "kind", "images", "captions", "changed_at",
    list_filter=("kind", "project"), search_fields=("name", "digest"),
)  # fmt: skip
look_up(
    ReferenceTranslation, "made", "english", "translator", "state", "done", "total", "failed", "asked_at",
    "finished_at",
    list_filter=("state",), search_fields=("made__name", "translator__name"),
)  # fmt: skip
look_up(
    Scoring, "pk", "project", "model", "references", "metrics", "tokenizer", "normalise", "created_at",
    list_filter=("tokenizer", "project"), search_fields=("model__name", "references__name"),
)  # fmt: skip


@admin.register(Pass)
class PassAdmin(LookUpAdmin):
    list_display = (
        "pk",
        "scoring",
        "state",
        "done",
        "total",
        "images",
        "left_out",
        "attempts",
        "asked_at",
        "finished_at",
    )
    list_filter = ("state", "scoring__project")
    exclude: ClassVar[list[str]] = ["image_ids"]
    list_select_related = ("scoring",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Pass]:
        return super().get_queryset(request).defer("image_ids")


@admin.register(Score)
class ScoreAdmin(LookUpAdmin):
    list_display = ("scoring_pass", "metric", "value", "why_undefined", "signature")
    list_filter = ("metric", "scoring_pass__scoring__project")
    search_fields = ("signature",)
    exclude: ClassVar[list[str]] = ["values", "sums"]
    list_select_related = ("scoring_pass",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Score]:
        return super().get_queryset(request).defer("values", "sums")
