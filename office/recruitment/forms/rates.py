"""The form of hourly rates: one for the project, and one for each language that differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from core.people.forms.fields import currency_field, rate_field
from office.recruitment.models import HourlyRate
from office.recruitment.services.rates import RateInCurrency

RATE, CURRENCY = "rate-", "currency-"


class LanguageRate(NamedTuple):
    language: Language
    rate: forms.BoundField
    currency: forms.BoundField


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

    def of_languages(self) -> Iterator[LanguageRate]:
        for language in self.languages:
            yield LanguageRate(language, self[RATE + language.tag], self[CURRENCY + language.tag])

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
