"""Admin pages for operators, to look things up. What is stored by content cannot be edited here."""

from __future__ import annotations

from django.contrib import admin

from core.images.models import Collection, Image, ImportJob
from core.people.admin import look_up

look_up(Image, search_fields=("=public_id", "=sha256", "title", "author"))
look_up(ImportJob)


@admin.register(Collection)
class CollectionAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "slug", "project", "is_shared", "created_at")
    list_filter = ("is_shared",)
    list_select_related = ("project",)
    fields = ("name", "slug", "description", "project", "is_shared")
    readonly_fields = ("project", "is_shared")
    search_fields = ("name", "slug")
