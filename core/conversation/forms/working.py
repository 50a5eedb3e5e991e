"""What people say of an image and to their managers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from core.conversation.rules import ReportReason
from core.conversation.services import MAX_COMMENT_CHARACTERS, MAX_MESSAGE_CHARACTERS


def text_area(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows, "dir": "auto"})


class ReportForm(forms.Form):
    """With `ask` in it, only the comment counts, which is then a question."""

    reason = forms.ChoiceField(label=_("What is wrong?"), widget=forms.RadioSelect)
    comment = forms.CharField(
        label=_("Comment or question"), required=False, max_length=MAX_COMMENT_CHARACTERS, widget=text_area(3)
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, reasons: Collection[ReportReason]) -> None:
        super().__init__(data)
        self.fields["reason"].choices = [(one.value, one.label) for one in reasons]  # type: ignore[attr-defined]
        self.is_question = data is not None and "ask" in data
        self.fields["reason"].required = not self.is_question
        self.fields["comment"].required = self.is_question


class MessageForm(forms.Form):
    text = forms.CharField(label=_("Your message"), max_length=MAX_MESSAGE_CHARACTERS, widget=text_area(4))
