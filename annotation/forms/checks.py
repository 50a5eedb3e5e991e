"""Forms to choose what a manager checks and to send feedback. The choice is in the address."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.models import Rating, Round
from annotation.permissions import feedback_readers
from annotation.selectors.checks import CheckFilters, RatingsApart, authors_of, rounds_to_check
from annotation.services.feedback import MAX_NOTE_CHARACTERS, FeedbackError, clean_note
from core.languages.models import Language
from core.people.models import Project, User

ANY_LEVEL = [("", _("all")), *Rating.choices]


class CheckForm(forms.Form):
    """The filters of a check. Without a round, the newest round that has captions."""

    round = forms.ChoiceField(label=_("Round"), error_messages={"invalid_choice": _("There is no such round here.")})
    annotator = forms.ChoiceField(
        label=_("Annotator"),
        required=False,
        error_messages={"invalid_choice": _("This person has not written anything in this language.")},
    )
    rated = forms.ChoiceField(label=_("English rated as"), choices=ANY_LEVEL, required=False)
    verdict = forms.ChoiceField(label=_("Rated by others as"), choices=ANY_LEVEL, required=False)
    apart = forms.ChoiceField(label=_("Two levels apart"), choices=RatingsApart.choices, required=False)
    unchecked = forms.BooleanField(label=_("Only captions that nobody has checked"), required=False)

    def __init__(self, sent: QueryDict, *, project: Project, language: Language) -> None:
        self._rounds = {str(round.pk): round for round in rounds_to_check(project, language)}
        self._people = {str(person.pk): person for person in authors_of(self._rounds.values())}
        given = sent.copy()
        if self._rounds and not given.get("round"):
            given["round"] = next(iter(self._rounds))
        super().__init__(given)
        self._offer("round", [(key, round.title) for key, round in self._rounds.items()])
        self._offer("annotator", [("", _("all")), *((key, one.username) for key, one in self._people.items())])

    @property
    def has_rounds(self) -> bool:
        return bool(self._rounds)

    def asked(self) -> CheckFilters:
        """Return the filters. Call it on a valid form."""
        given = self.cleaned_data
        return CheckFilters(
            round=self._rounds[given["round"]],
            annotator=self._people.get(given["annotator"]),
            rated=given["rated"],
            verdict=given["verdict"],
            apart=given["apart"],
            is_unchecked=given["unchecked"],
        )

    def _offer(self, name: str, choices: list[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices


class FeedbackTextForm(forms.Form):
    text = forms.CharField(
        label=_("Feedback"),
        widget=forms.Textarea(attrs={"rows": 6, "maxlength": MAX_NOTE_CHARACTERS}),
        help_text=_("They must read and confirm it before they get another batch. Do not quote English captions."),
        strip=False,
    )

    def clean_text(self) -> str:
        try:
            return clean_note(self.cleaned_data["text"])
        except FeedbackError as refused:
            raise forms.ValidationError(str(refused)) from refused


class FeedbackForm(FeedbackTextForm):
    """Feedback to one annotator about a round in general."""

    person = forms.ModelChoiceField(
        label=_("To"),
        queryset=User.objects.none(),
        empty_label=_("Choose…"),
        error_messages={"invalid_choice": _("This person no longer writes in this language here.")},
    )
    field_order = ("person", "text")

    def __init__(self, *args: Any, round: Round, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["person"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = feedback_readers(round)
