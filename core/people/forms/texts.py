"""The form of a translation of a project's text."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _


class TranslationForm(forms.Form):
    body = forms.CharField(
        label=_("Translation"),
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 24}),
        help_text=_("Use Markdown, as the original does."),
    )
    version = forms.IntegerField(widget=forms.HiddenInput)
