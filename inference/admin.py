"""For whoever runs the installation: models and word vectors. What models said is looked up nowhere: it cannot leak."""

from __future__ import annotations

from django.contrib import admin

from inference.models import CaptioningModel, WordVectorSet
from people.admin import LookUpAdmin


@admin.register(CaptioningModel)
class CaptioningModelAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "created_at")
    search_fields = ("name",)


@admin.register(WordVectorSet)
class WordVectorSetAdmin(LookUpAdmin):
    list_display = ("name", "language", "kind", "words", "dimensions", "created_at")
    search_fields = ("name", "signature")
    list_select_related = ("language",)
