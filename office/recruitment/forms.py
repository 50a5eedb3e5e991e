"""Forms of studies and hourly rates, and what people of a panel say when they arrive."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from core.people.forms.fields import NameCharField, currency_field, rate_field
from core.people.forms.invitations import MAX_PLACES
from core.people.forms.profile import ACCOUNT, JoinForm
from core.people.models import ConsentText, Role
from office.recruitment.models import (
    MAX_ADDRESS_CHARACTERS,
    MAX_DESCRIPTION_CHARACTERS,
    HourlyRate,
    PanelStudy,
    Study,
    WorkRole,
)
from office.recruitment.rules.panels import USUAL_NAMES, PanelKind
from office.recruitment.rules.prolific import RETURN_ADDRESS
from office.recruitment.services.studies import RateInCurrency

MAX_BATCHES = 1000


def address(value: str) -> None:
    """Check an address to return to: https, and nothing in it but what is replaced."""
    parts = urlsplit(value)
    if parts.scheme != "https" or not parts.hostname or not value.isprintable() or " " in value:
        raise ValidationError(gettext("Enter a whole address that begins with https://."))


def _address_field(**about: Any) -> forms.CharField:
    widget = forms.URLInput(attrs={"dir": "ltr"})
    return forms.CharField(max_length=MAX_ADDRESS_CHARACTERS, validators=[address], widget=widget, **about)


def _parameter_field(**about: Any) -> forms.RegexField:
    return forms.RegexField(regex=r"\A[\w.-]{1,50}\Z", required=False, **about)


class _SettingsForm(forms.Form):
    """What can be changed later."""

    places = forms.IntegerField(
        label=_("For how many people"),
        min_value=1,
        max_value=MAX_PLACES,
        help_text=_("As in the panel's own settings."),
    )
    done_url = _address_field(
        label=_("Address to return to when done"),
        help_text=_(
            "With the panel's completion code, such as https://app.prolific.com/submissions/complete?cc=C1ABCDEF. "
            "{person} and {session} in it are replaced by what the panel sent."
        ),
    )
    screened_out_url = _address_field(
        label=_("Address for people who are screened out (optional)"),
        required=False,
        help_text=_("For those whose languages do not fit. Without one, they are asked to return the study."),
    )
    failed_url = _address_field(
        label=_("Address for people who failed the checks (optional)"),
        required=False,
        help_text=_(
            "For those who are paused or excluded when they finish. Without one, they are asked to return the study."
        ),
    )
    reward = forms.DecimalField(
        label=_("Reward per person"),
        min_value=0,
        max_digits=8,
        decimal_places=2,
        help_text=_("What the panel pays each person."),
    )
    rate = rate_field(
        help_text=_(
            "What you want an hour to be paid. The page of the study shows whose reward is less, and the bonus that is "
            "missing."
        )
    )
    currency = currency_field(initial="GBP", help_text=_("Three letters, such as GBP."))
    webhook_secret = forms.CharField(
        label=_("Secret of the panel's webhooks (optional)"),
        required=False,
        max_length=200,
        widget=forms.PasswordInput(render_value=True, attrs={"autocomplete": "off"}),
        help_text=_(
            "With Prolific's secret, places and batches of people who return the study or time out are freed at once."
        ),
    )


class StudyForm(_SettingsForm):
    done_url = _address_field(
        label=_("Address to return to when done (optional for Prolific)"),
        required=False,
        help_text=_(
            "With the panel's completion code, such as https://app.prolific.com/submissions/complete?cc=C1ABCDEF. "
            "{person} and {session} in it are replaced by what the panel sent. If you leave it empty for Prolific, "
            "all three addresses get new codes."
        ),
    )
    name = NameCharField(label=_("Name"), max_length=100)
    panel = forms.ChoiceField(label=_("Panel"), choices=PanelKind.choices, initial=PanelKind.PROLIFIC)
    role = forms.ChoiceField(label=_("Role"), choices=WorkRole.choices, initial=WorkRole.ANNOTATOR)
    languages = forms.ModelMultipleChoiceField(
        label=_("Languages"),
        queryset=Language.objects.all(),
        widget=forms.CheckboxSelectMultiple(attrs={"class": "choices"}),
        help_text=_("People who are native or fluent in one of these take part. Others are screened out."),
    )
    batches = forms.IntegerField(
        label=_("Batches per person"),
        min_value=1,
        max_value=MAX_BATCHES,
        initial=1,
        help_text=_("Nobody can take more, and nobody is done with fewer."),
    )
    person_parameter = _parameter_field(
        label=_("Parameter with the person (optional)"),
        help_text=_(
            "In the panel's address. If you leave it empty: PROLIFIC_PID, participantId for Connect, id for SONA."
        ),
    )
    session_parameter = _parameter_field(
        label=_("Parameter with the submission (optional)"),
        help_text=_("If you leave it empty: SESSION_ID, assignmentId for Connect, none for SONA."),
    )

    field_order = ("name", "panel", "role", "languages", "batches")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if "panel" in cleaned:
            usual = USUAL_NAMES[PanelKind(cleaned["panel"])]
            cleaned["person_parameter"] = cleaned.get("person_parameter") or usual.person
            cleaned["session_parameter"] = cleaned.get("session_parameter") or usual.session
            self._fill_in_addresses(cleaned)
        return cleaned

    def _fill_in_addresses(self, cleaned: dict[str, Any]) -> None:
        if cleaned.get("done_url") or "done_url" in self.errors:
            return
        if cleaned["panel"] != PanelKind.PROLIFIC:
            self.add_error("done_url", forms.Field.default_error_messages["required"])
            return
        for name in ("done_url", "screened_out_url", "failed_url"):
            cleaned[name] = cleaned.get(name) or f"{RETURN_ADDRESS}C{secrets.token_hex(4).upper()}"


class StudySettingsForm(_SettingsForm):
    is_open = forms.BooleanField(
        label=_("New people can begin"),
        required=False,
        help_text=_("When this is off, people can finish but nobody can begin."),
    )


class ProlificTokenForm(forms.Form):
    token = forms.RegexField(
        regex=r"\A[!-~]+\Z",
        label=_("Token of your workspace"),
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("From Prolific: Settings, Go to API token page. It is shown to nobody again."),
    )


class PanelPlanForm(forms.Form):
    """Once there is a draft, only the budget can be changed here."""

    description = forms.CharField(
        label=_("Description"),
        max_length=MAX_DESCRIPTION_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("People read it at Prolific before they take part."),
    )
    minutes = forms.IntegerField(
        label=_("Estimated minutes"),
        min_value=1,
        max_value=1000,
        help_text=_("Filled in from the median of the batches in this project, if there are any."),
    )
    budget = forms.DecimalField(
        label=_("Budget"),
        min_value=0,
        max_digits=10,
        decimal_places=2,
        help_text=_("In the study's currency: rewards and bonuses with Prolific's fees. No step passes it."),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, row: PanelStudy | None, minutes: int | None) -> None:
        initial = {name: getattr(row, name) for name in self.base_fields} if row else {"minutes": minutes}
        super().__init__(data, initial=initial)
        if row is not None and row.panel_id:
            del self.fields["description"], self.fields["minutes"]


class PlacesForm(forms.Form):
    places = forms.IntegerField(label=_("Places in all"), min_value=1, max_value=MAX_PLACES)


class ArrivalForm(JoinForm):
    """Languages and consent of somebody from a panel. They get an account without choosing a name or password."""

    def __init__(self, *args: Any, study: Study, text: ConsentText | None, **kwargs: Any) -> None:
        super().__init__(*args, invitation=study, user=None, text=text, **kwargs)
        self._drop(*ACCOUNT)
        self.makes_account = False
        if study.role == Role.ANNOTATOR:
            self.fields["reads_english"].help_text = ""


RATE, CURRENCY = "rate-", "currency-"


class RatesForm(forms.Form):
    """`rate-` and `currency-` are those of the project; with a tag, those of a language. Empty ones have no rate."""

    def __init__(
        self, *args: Any, languages: Sequence[Language], rates: Mapping[str, HourlyRate], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.languages = languages
        for tag in ("", *(language.tag for language in languages)):
            known = rates.get(tag)
            self.fields[RATE + tag] = rate_field(required=False, initial=known.rate if known else None)
            self.fields[CURRENCY + tag] = currency_field(required=False, initial=known.currency if known else "")
        self.fields[CURRENCY].help_text = _("Three letters, such as GBP.")

    @property
    def of_project(self) -> list[forms.BoundField]:
        return [self[RATE], self[CURRENCY]]

    def of_languages(self) -> Iterator[tuple[Language, forms.BoundField, forms.BoundField]]:
        for language in self.languages:
            yield language, self[RATE + language.tag], self[CURRENCY + language.tag]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        for tag in ("", *(language.tag for language in self.languages)):
            if cleaned.get(RATE + tag) is not None and not self._currency(cleaned, tag):
                self.add_error(CURRENCY + tag, gettext("Enter the currency of this rate."))
        return cleaned

    @staticmethod
    def _currency(cleaned: Mapping[str, Any], tag: str) -> str:
        return cleaned.get(CURRENCY + tag) or cleaned.get(CURRENCY) or ""

    def rates(self) -> dict[str, RateInCurrency]:
        tags = ("", *(language.tag for language in self.languages))
        given: dict[str, Decimal | None] = {tag: self.cleaned_data[RATE + tag] for tag in tags}
        return {
            tag: RateInCurrency(rate, self._currency(self.cleaned_data, tag))
            for tag, rate in given.items()
            if rate is not None
        }
