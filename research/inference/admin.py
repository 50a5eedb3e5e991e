"""Admin pages for operators: models, word vectors, runs and workers. No page shows captions, so none can leak."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from core.people.admin import look_up
from research.inference.models import CaptioningModel, Run, WordVectorSet, Worker


@admin.register(CaptioningModel)
class CaptioningModelAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "project", "is_shared", "created_at", "retired_at")
    list_filter = ("is_shared", ("retired_at", admin.EmptyFieldListFilter))
    list_select_related = ("project",)
    search_fields = ("name",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        # Registered on its page, which checks what it is.
        return False

    def has_change_permission(self, request: HttpRequest, model: CaptioningModel | None = None) -> bool:
        # Its pages and set_owner see to it that nobody loses what they use, and that captions keep their origin.
        return False


look_up(Run, WordVectorSet, Worker, hidden=("trial_captions",))
