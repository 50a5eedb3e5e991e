"""The form of the next version of the guidelines: nothing is stored before it is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.models import GuidelineExample, Guidelines, Rating, Round
from core.images.forms import ChosenImages
from core.images.models import Image
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.forms.fields import RowsField
from core.people.rules.consent_parts import PartsError, checked_parts

MAX_TEXT_CHARACTERS = 50_000
MAX_CAPTION_CHARACTERS = 1_000
MAX_EXAMPLES = 30


class GuidelinesForm(forms.Form):
    rating = forms.CharField(
        label=_("For rating"),
        max_length=MAX_TEXT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 16, "dir": "auto"}),
        help_text=_(
            "Shown to everybody who rates captions. You can use Markdown. Only those who then write captions read what "
            "is between a line {FOR annotator} and a line {END}."
        ),
    )
    writing = forms.CharField(
        label=_("For writing"),
        max_length=MAX_TEXT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 16, "dir": "auto"}),
        help_text=_("Shown to everybody who writes captions. You can use Markdown."),
    )
    note = forms.CharField(
        label=_("What changed, and why"),
        max_length=2_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text=_("Annotators see this on their work page before their next batch."),
    )
    rounds = RowsField(
        label=_("Rounds that switch to it"),
        queryset=Round.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("They switch with the next batch that somebody takes. Rounds opened later use the newest version."),
    )
    after = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, data: Mapping[str, Any] | None = None, *, last: Guidelines, rounds: Sequence[Round]) -> None:
        initial = {"rating": last.rating, "writing": last.writing, "after": last.version}
        super().__init__(data, initial=initial | {"rounds": [round.pk for round in rounds]})
        field = self.fields["rounds"]
        field.queryset = Round.objects.filter(pk__in=[round.pk for round in rounds])  # type: ignore[attr-defined]
        field.choices = [(round.pk, f"{round.language.name}: {round.title}") for round in rounds]  # type: ignore[attr-defined]
        if not rounds:
            del self.fields["rounds"]

    @classmethod
    def as_typed(cls, data: QueryDict, *, last: Guidelines, rounds: Sequence[Round]) -> GuidelinesForm:
        """Return the form with the submitted values and without errors."""
        form = cls(last=last, rounds=rounds)
        typed: dict[str, Any] = {name: data.get(name, "") for name in ("rating", "writing", "note", "after")}
        form.initial = typed | {"rounds": data.getlist("rounds")}
        return form

    def clean_rating(self) -> str:
        return _text(self.cleaned_data["rating"])

    def clean_writing(self) -> str:
        return _text(self.cleaned_data["writing"])


class ExampleForm(forms.Form):
    image = forms.ModelChoiceField(queryset=Image.objects.none(), widget=forms.HiddenInput)
    caption = forms.CharField(
        label=_("Caption"), max_length=MAX_CAPTION_CHARACTERS, widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"})
    )
    language = forms.ModelChoiceField(label=_("Language"), queryset=Language.objects.all(), initial=ENGLISH)
    level = forms.ChoiceField(label=_("Level"), choices=Rating.choices, initial=Rating.EXCELLENT)
    why = forms.CharField(
        label=_("Reason"),
        max_length=2_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )

    def example(self) -> GuidelineExample:
        return GuidelineExample(**self.cleaned_data)


class ExampleForms(ChosenImages[ExampleForm]):
    """The submitted examples; those of the newest version before anything is submitted."""

    form_class = ExampleForm
    prefix = "example"
    most = MAX_EXAMPLES


def stored_examples(last: Guidelines) -> list[dict[str, Any]]:
    """Return what the forms of the examples of a version begin with."""
    examples = GuidelineExample.objects.filter(guidelines=last).order_by("position")
    return list(examples.values(*ExampleForm.base_fields))


def _text(typed: str) -> str:
    """Normalise line ends: browsers differ in them, and every line would count as a change."""
    text = typed.replace("\r\n", "\n").strip() + "\n"
    try:
        checked_parts(text)
    except PartsError as error:
        raise forms.ValidationError(str(error)) from error
    return text
