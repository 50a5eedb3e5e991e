"""The answer of a second reader."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import ReadingAnswer
from annotation.services.feedback import MAX_NOTE_CHARACTERS


class ReadingForm(forms.Form):
    """The answer of a second reader."""

    answer = forms.ChoiceField(label=_("Caption"), choices=ReadingAnswer.choices, widget=forms.RadioSelect)
    comment = forms.CharField(
        label=_("Comment (optional)"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "maxlength": MAX_NOTE_CHARACTERS, "dir": "auto"}),
    )

    def clean_answer(self) -> ReadingAnswer:
        return ReadingAnswer(self.cleaned_data["answer"])
