"""Forms to end sessions, and to make tokens for programs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from core.people.forms.names import NameCharField


class EndSessionsForm(forms.Form):
    """Asks about tokens only if there are any."""

    with_tokens = forms.BooleanField(label=_("Also revoke my tokens for programs"), required=False, initial=True)

    def __init__(self, *args: Any, tokens: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not tokens:
            del self.fields["with_tokens"]


class TokenForm(forms.Form):
    name = NameCharField(
        label=_("Name"), max_length=100, help_text=_("The program that uses it, for example “nightly export on lab-3”.")
    )
    may_write = forms.BooleanField(
        label=_("Can also change things"),
        required=False,
        help_text=_("Otherwise it is read-only: it can read what you can read."),
    )
    days = forms.TypedChoiceField(
        label=_("Valid for"),
        coerce=int,
        initial=90,
        choices=[(30, _("30 days")), (90, _("90 days")), (365, _("1 year"))],
    )

    def expires_at(self, now: datetime) -> datetime:
        return now + timedelta(days=self.cleaned_data["days"])
