"""Forms of a manager's pages of a project: to write and translate its texts, add a webhook, filter the audit log."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.people.defaults import default_text
from core.people.models import ConsentText, OnWithdrawal, Project, TextKind, User, WebhookEvent
from core.people.selectors.audit_log import EntryFilters, is_known_in


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


class LogForm(forms.Form):
    """Which entries to show; errors are shown beside their fields."""

    action = forms.ChoiceField(label=_("Action"), required=False)
    person = forms.CharField(label=_("User name (who did it, or whom it is about)"), required=False)
    since = forms.DateField(label=_("First day (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("Last day (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    before = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)

    def __init__(self, *args: Any, project: Project, actions: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._project = project
        self.fields["action"].choices = [("", _("All")), *actions]  # type: ignore[attr-defined]

    def clean_person(self) -> User | None:
        name = self.cleaned_data["person"].strip()
        if not name:
            return None
        person = User.objects.filter(username__iexact=name).first()
        # It does not say whether others have an account.
        if person is None or not is_known_in(self._project, person):
            raise ValidationError(gettext("There is nobody with this name. Check the spelling."))
        return person

    def wanted(self) -> EntryFilters:
        cleaned = self.cleaned_data
        return EntryFilters(cleaned["action"], cleaned["person"], cleaned["since"], cleaned["until"])


class TranslationForm(forms.Form):
    body = forms.CharField(
        label=_("Translation"),
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 24}),
        help_text=_("Use Markdown, as the original does. What is in braces stays as it is, also on lines of its own."),
    )
    version = forms.IntegerField(widget=forms.HiddenInput)


class ReviewForm(TranslationForm):
    """For a person without an account."""

    reviewed_by = forms.CharField(
        label=_("Your name"), max_length=100, help_text=_("The project sees who reviewed the text.")
    )
    field_order = ("reviewed_by",)


class ConsentTextForm(forms.Form):
    body = forms.CharField(
        label=_("Text"),
        strip=True,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 24, "dir": "auto"}),
        help_text=_(
            "Use Markdown: ## for a heading, - for a list, > for a quotation. Only annotators read what is between a "
            "line {FOR annotator} and a line {END}; for two roles, write {FOR annotator, rater}."
        ),
    )
    licence = forms.CharField(
        label=_("Licence of what people write"),
        max_length=200,
        required=False,
        help_text=_(
            "Shown where the text says {LICENCE}. Leave the text as it is, and people read it in their language."
        ),
    )
    contact = forms.CharField(
        label=_("Who to ask"),
        max_length=200,
        required=False,
        help_text=_("A name and an address, shown where the text says {CONTACT}."),
    )
    on_withdrawal = forms.ChoiceField(
        label=_("When somebody withdraws their consent"),
        choices=OnWithdrawal.choices,
        widget=forms.RadioSelect(attrs={"class": "choices choices--sentences"}),
        help_text=_(
            "This is shown beside the text. It applies to all answers of the people who agree to this version."
        ),
    )

    def __init__(self, *args: Any, text: ConsentText | None, wants_default: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shown = text or ConsentText()
        self.initial.update({name: getattr(shown, name) for name in self.base_fields})
        if wants_default:
            self.initial["body"] = default_text(TextKind.CONSENT)
