"""Admin page of e-mails, to look up what was sent, and what was not and why."""

from __future__ import annotations

from django.contrib import admin

from core.people.admin import LookUpOnly
from office.dashboard.models import Notice


@admin.register(Notice)
class NoticeAdmin(LookUpOnly, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("pk", "kind", "person", "state", "queued_at", "sent_at", "attempts", "reason")
    list_filter = ("state", "kind")
    list_select_related = ("person",)
