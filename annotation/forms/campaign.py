"""Forms for steps of a campaign, of one or of several rounds, and for decisions about an annotator."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.db.models import TextChoices
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.forms.checks import FeedbackTextForm
from annotation.rules.bulk_actions import BulkAction
from annotation.rules.campaign import PILOT_IMAGES, RoundAction, UnfinishedBatches
from core.allocation.forms import MAX_BATCH_SIZE, MAX_LEASE_H, MAX_REPLICATION, MIN_LEASE_H

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


class OptionalReasonForm(forms.Form):
    reason = reason_field(label=_("Reason (optional)"), required=False)


class CloseForm(forms.Form):
    assigned = forms.ChoiceField(
        label=_("What should happen to unfinished batches?"),
        choices=UnfinishedBatches.choices,
        initial=UnfinishedBatches.LET_FINISH,
        widget=forms.RadioSelect,
    )


UNCHANGED = ("", _("As it is"))


class SettingsForm(forms.Form):
    """Settings of many rounds: an empty field leaves each as it is."""

    replication = forms.IntegerField(
        label=_("Captions per image, or reviewers per caption"),
        min_value=1,
        max_value=MAX_REPLICATION,
        required=False,
        help_text=_("If you lower this, nothing that is written or assigned is lost."),
    )
    batch_size = forms.IntegerField(
        label=_("Images or captions per batch"), min_value=1, max_value=MAX_BATCH_SIZE, required=False
    )
    lease_h = forms.DecimalField(
        label=_("Hours to finish a batch"),
        min_value=MIN_LEASE_H,
        max_value=MAX_LEASE_H,
        decimal_places=2,
        required=False,
    )
    is_open = forms.ChoiceField(
        label=_("New batches"),
        choices=[UNCHANGED, ("yes", _("Allow them")), ("no", _("Pause the rounds"))],
        required=False,
    )
    needs_qualification = forms.ChoiceField(
        label=_("Who gets batches"),
        choices=[UNCHANGED, ("no", _("Everybody")), ("yes", _("Only qualified people"))],
        required=False,
    )

    def changes(self) -> dict[str, Any]:
        """Return the fields of `RoundSettings` that were filled in. Call it on a valid form."""
        said = self.cleaned_data
        hours: Decimal | None = said["lease_h"]
        given = {
            "replication": said["replication"],
            "batch_size": said["batch_size"],
            "lease_s": None if hours is None else int(hours * 3600),
            "is_open": _YES_OR_NO[said["is_open"]],
            "needs_qualification": _YES_OR_NO[said["needs_qualification"]],
        }
        return {name: value for name, value in given.items() if value is not None}


_YES_OR_NO = {"yes": True, "no": False, "": None}
_FORMS: dict[BulkAction, type[forms.Form]] = {
    BulkAction.OPEN: forms.Form,
    BulkAction.RETURN: forms.Form,
    BulkAction.CLOSE: CloseForm,
    BulkAction.ACCEPT: OptionalReasonForm,
    BulkAction.REOPEN: OptionalReasonForm,
    BulkAction.REJECT: ReasonForm,
    BulkAction.SKIP: ReasonForm,
    BulkAction.SETTINGS: SettingsForm,
    BulkAction.WRITE: FeedbackTextForm,
}


def form_for(action: BulkAction, data: Any = None) -> forms.Form:
    return _FORMS[action](data)
