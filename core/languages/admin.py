"""Languages in the administration: names and traits can be put right there, tags cannot."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from core.languages.models import Language
from core.languages.rules.scripts import MalformedScriptError, canonical_script
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag


class LanguageForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Language
        fields = ("tag", "english_name", "own_name", "direction", "spaced", "scripts")

    def clean_tag(self) -> str:
        try:
            return canonical_tag(self.cleaned_data["tag"])
        except MalformedTagError as error:
            raise ValidationError(str(error)) from error

    def clean_scripts(self) -> list[str]:
        codes = self.cleaned_data["scripts"] or []
        if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
            raise ValidationError('Write a list of script codes, such as ["Latn"].')
        try:
            return [canonical_script(code) for code in codes]
        except MalformedScriptError as error:
            raise ValidationError(str(error)) from error


@admin.register(Language)
class LanguageAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = LanguageForm
    list_display = ("english_name", "own_name", "tag", "direction", "spaced", "scripts")
    search_fields = ("tag", "english_name", "own_name")
    list_filter = ("direction", "spaced")

    def get_readonly_fields(self, request: HttpRequest, obj: Language | None = None) -> tuple[str, ...]:
        """The tag is the key that other rows refer to."""
        return () if obj is None else ("tag",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """The 36 and whatever was written in stay: rows refer to them."""
        return False
