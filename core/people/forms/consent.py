"""Forms to give and withdraw consent, and to edit its text."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from core.people.models import ConsentText, OnWithdrawal


class ConsentForm(forms.Form):
    consent = forms.BooleanField(
        label=_("I have read the text above and agree to it"),
        error_messages={"required": _("Tick the box if you agree. If you do not, leave this page.")},
    )
    version = forms.IntegerField(widget=forms.HiddenInput)


class WithdrawalForm(forms.Form):
    """Asks whether answers are kept only if the `text` that was agreed to lets the person choose."""

    answers = forms.ChoiceField(
        label=_("The answers I have given so far"),
        choices=[
            (OnWithdrawal.KEEP, _("Keep them under a pseudonym")),
            (OnWithdrawal.REMOVE, _("Do not count them, and leave them out of later releases")),
        ],
        widget=forms.RadioSelect(attrs={"class": "choices choices--sentences"}),
    )

    def __init__(self, *args: Any, text: ConsentText | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if text is None or text.on_withdrawal != OnWithdrawal.CHOOSE:
            del self.fields["answers"]

    def keeps_answers(self) -> bool | None:
        """Return the choice; None if it is not the person's."""
        chosen = self.cleaned_data.get("answers")
        return chosen == OnWithdrawal.KEEP if chosen else None


class ConsentTextForm(forms.Form):
    body = forms.CharField(
        label=_("Text"),
        strip=True,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 24, "dir": "auto"}),
        help_text=_("Use Markdown: ## for a heading, - for a list, > for a quotation."),
    )
    on_withdrawal = forms.ChoiceField(
        label=_("When somebody withdraws their consent"),
        choices=OnWithdrawal.choices,
        widget=forms.RadioSelect(attrs={"class": "choices choices--sentences"}),
        help_text=_(
            "This is shown beside the text. It applies to all answers of the people who agree to this version."
        ),
    )

    def __init__(self, *args: Any, text: ConsentText | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["body"] = text.body if text else ""
        self.initial["on_withdrawal"] = text.on_withdrawal if text else OnWithdrawal.CHOOSE
