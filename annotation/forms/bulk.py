"""What a manager says before one action on several rounds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.campaign import ReasonForm, reason_field
from annotation.forms.checks import FeedbackTextForm
from annotation.rules.bulk_actions import BulkAction
from annotation.rules.campaign import UnfinishedBatches
from core.allocation.forms import MAX_BATCH_SIZE, MAX_LEASE_H, MAX_REPLICATION, MIN_LEASE_H


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
