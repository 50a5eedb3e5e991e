"""The form to add a webhook."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from core.people.models import WebhookEvent


class WebhookForm(forms.Form):
    url = forms.URLField(
        label=_("Address"),
        max_length=500,
        assume_scheme="https",
        widget=forms.URLInput(attrs={"dir": "ltr"}),
        help_text=_("It must begin with https:// and be reachable from the internet."),
    )
    events = forms.MultipleChoiceField(
        label=_("Notify when"),
        choices=WebhookEvent.choices,
        initial=WebhookEvent.values,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "choices"}),
    )

    def wanted(self) -> list[WebhookEvent]:
        return [WebhookEvent(event) for event in self.cleaned_data["events"]]
