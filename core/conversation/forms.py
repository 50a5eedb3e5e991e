"""What people say of an image, and what a manager wants to see of the inbox."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from core.conversation.models import ReportReason
from core.conversation.services import MAX_COMMENT_CHARACTERS
from core.languages.models import Language

WAITING = "waiting"


class ReportForm(forms.Form):
    reason = forms.ChoiceField(label=_("What is wrong?"), choices=ReportReason.choices, widget=forms.RadioSelect)
    comment = forms.CharField(
        label=_("Comment (optional)"),
        required=False,
        max_length=MAX_COMMENT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )


class InboxForm(forms.Form):
    """Anything that is none of the choices shows all."""

    shown = forms.ChoiceField(
        label=_("State"), choices=[(WAITING, _("To answer")), ("answered", _("Answered"))], required=False
    )
    language = forms.ChoiceField(label=_("Language"), required=False)

    def __init__(self, data: Mapping[str, Any], *, languages: Iterable[Language]) -> None:
        super().__init__(data)
        languages_field: Any = self.fields["language"]
        languages_field.choices = [("", _("All")), *((one.tag, one.name) for one in languages)]

    def wanted(self) -> dict[str, Any]:
        self.is_valid()
        shown = self.cleaned_data.get("shown")
        return {"is_waiting": shown in (None, "", WAITING), "language": self.cleaned_data.get("language", "")}
