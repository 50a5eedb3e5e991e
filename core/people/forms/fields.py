"""Fields of many forms: the name that people give to a thing, and money."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import BigIntegerField
from django.utils.translation import gettext_lazy as _

from crosslens_metrics.formats.names import readable_name


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Several rows by number. SQLite does not compare with numbers that no row can have: they are unknown rows."""

    def clean(self, value: Any) -> Any:
        for one in value if isinstance(value, list | tuple) else ():
            digits = str(one).strip(" +-0_")
            if digits.isdecimal() and len(digits) >= len(str(BigIntegerField.MAX_BIGINT)):
                raise ValidationError(self.error_messages["invalid_choice"], "invalid_choice", {"value": one})
        return super().clean(value)


class NameCharField(forms.CharField):
    """A name, in the one spelling in which names are compared; without a visible character it is empty."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return readable_name(text) if text else text


def rate_field(**about: Any) -> forms.DecimalField:
    return forms.DecimalField(label=_("Pay per hour"), min_value=0, max_digits=8, decimal_places=2, **about)


def currency_field(**about: Any) -> forms.RegexField:
    return forms.RegexField(
        label=_("Currency"),
        regex=r"\A[A-Z]{3}\Z",
        error_messages={"invalid": _("Enter three capital letters, such as GBP.")},
        **about,
    )
