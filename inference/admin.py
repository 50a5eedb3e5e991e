"""For whoever runs the installation: the models. What they said is looked up nowhere, so that it leaks nowhere."""

from __future__ import annotations

from django.contrib import admin

from inference.models import CaptioningModel


@admin.register(CaptioningModel)
class CaptioningModelAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "created_at")
    search_fields = ("name",)
