"""Forms for steps of a campaign and for decisions about an annotator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.db.models import TextChoices
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.rules.campaign import PILOT_IMAGES, RoundAction, UnfinishedBatches

MAX_REASON_CHARACTERS = 2000
NEEDS_REASON = frozenset({RoundAction.REJECT, RoundAction.SKIP})


class StepForm(forms.Form):
    """The fields of all actions; those that an action does not use are ignored."""

    reason = forms.CharField(required=False, max_length=MAX_REASON_CHARACTERS)
    needs_qualification = forms.BooleanField(required=False)
    assigned = forms.ChoiceField(required=False, choices=UnfinishedBatches.choices)

    def __init__(self, data: Mapping[str, Any], *, action: RoundAction) -> None:
        super().__init__(data)
        self.action = action

    def clean_reason(self) -> str:
        reason: str = self.cleaned_data["reason"]
        if self.action in NEEDS_REASON and not reason:
            raise forms.ValidationError(gettext("Enter a reason."))
        return reason

    def answers(self) -> dict[str, Any]:
        """Return what `services.campaign.take_step` asks for. Call it on a valid form."""
        assigned = self.cleaned_data["assigned"]
        return self.cleaned_data | {"assigned": UnfinishedBatches(assigned) if assigned else None}


def too_many_images(most: int) -> str:
    """Return why a pilot cannot have more than `most` images."""
    return ngettext(
        "Only %(number)d image of the collection has an English caption. Enter at most that many.",
        "Only %(number)d images of the collection have an English caption. Enter at most that many.",
        most,
    ) % {"number": most}


class PilotForm(forms.Form):
    """Validate the number of images; `most` is how many there are to draw from."""

    sample_size = forms.IntegerField(label=_("Images in the pilot"), min_value=1, initial=PILOT_IMAGES)

    def __init__(self, *args: Any, most: int | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.most = most

    def clean_sample_size(self) -> int:
        size: int = self.cleaned_data["sample_size"]
        if self.most is not None and size > self.most:
            raise forms.ValidationError(too_many_images(self.most))
        return size


class SampleForm(forms.Form):
    sample_size = forms.IntegerField(
        label=_("Captions to rate"),
        min_value=1,
        required=False,
        help_text=_("One caption for each of this many images, drawn at random. Leave empty for all captions."),
    )


def reason_field(**about: Any) -> forms.CharField:
    return forms.CharField(max_length=MAX_REASON_CHARACTERS, widget=forms.Textarea(attrs={"rows": 2}), **about)


class ReasonForm(forms.Form):
    reason = reason_field(label=_("Reason"), error_messages={"required": _("Enter a reason.")})


class AnnotatorDecision(TextChoices):
    QUALIFY = "qualify", _("Qualify")
    PAUSE = "pause", _("Pause")
    LIFT = "lift", _("Withdraw the decision")
    EXCLUDE = "exclude", _("Exclude their work")
    UNDO = "undo", _("Count their work again")


class DecisionForm(forms.Form):
    """A decision about somebody in a language, named by the button that was pressed."""

    reason = reason_field(
        label=_("Reason"), required=False, help_text=_("Kept in the log. The annotator does not see it.")
    )
    decision = forms.ChoiceField(choices=AnnotatorDecision.choices, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("decision") in (AnnotatorDecision.PAUSE, AnnotatorDecision.EXCLUDE) and not cleaned.get(
            "reason"
        ):
            self.add_error("reason", gettext("Enter a reason."))
        return cleaned
