"""What managers answer, and what they want to see of the inbox."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.conversation.forms.working import MessageForm, text_area
from core.conversation.models import SavedAnswer
from core.languages.models import Language
from core.people.models import Project

WAITING = "waiting"


class ReplyForm(MessageForm):
    """A saved answer goes before what is typed, or stands for it."""

    saved = forms.ModelChoiceField(label=_("Saved answer"), queryset=SavedAnswer.objects.none(), required=False)
    newest = forms.IntegerField(required=False, widget=forms.HiddenInput)
    field_order = ("saved", "text")

    def __init__(self, data: Mapping[str, Any] | None = None, *, project: Project, newest: int | None = None) -> None:
        super().__init__(data, initial={"newest": newest})
        saved: Any = self.fields["saved"]
        saved.queryset = SavedAnswer.objects.filter(project=project)
        self.fields["text"].required = False

    def clean(self) -> dict[str, Any]:
        sent = super().clean() or self.cleaned_data
        saved = sent.get("saved")
        sent["text"] = "\n\n".join(filter(None, (saved.text if saved else "", sent.get("text", ""))))
        return sent


class SavedAnswerForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = SavedAnswer
        fields = ("title", "text")
        labels = {"title": _("Title"), "text": _("Text")}  # noqa: RUF012
        widgets = {"text": text_area(3)}  # noqa: RUF012

    def clean_title(self) -> str:
        title: str = self.cleaned_data["title"]
        if SavedAnswer.objects.filter(project=self.instance.project, title=title).exists():
            raise forms.ValidationError(gettext("There is an answer with this title."))
        return title


class InboxForm(forms.Form):
    """Anything that is none of the choices is as if nothing was chosen."""

    shown = forms.ChoiceField(
        label=_("State"), choices=[(WAITING, _("To answer")), ("answered", _("Answered"))], required=False
    )
    kind = forms.ChoiceField(
        label=_("Kind"),
        choices=[("", _("All")), ("questions", _("Questions")), ("reports", _("Reports of images"))],
        required=False,
    )
    language = forms.ChoiceField(label=_("Language"), required=False)

    def __init__(self, data: Mapping[str, Any], *, languages: Iterable[Language]) -> None:
        super().__init__(data)
        languages_field: Any = self.fields["language"]
        languages_field.choices = [("", _("All")), *((one.tag, one.name) for one in languages)]
        self.is_valid()

    @property
    def kind_wanted(self) -> str:
        return str(self.cleaned_data.get("kind", ""))

    def wanted(self) -> dict[str, Any]:
        is_waiting = self.cleaned_data.get("shown") in (None, "", WAITING)
        return {"is_waiting": is_waiting, "language": self.cleaned_data.get("language", "")}
