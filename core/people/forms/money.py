"""Parts of forms about money."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _


def rate_field(**about: Any) -> forms.DecimalField:
    return forms.DecimalField(label=_("Pay per hour"), min_value=0, max_digits=8, decimal_places=2, **about)


def currency_field(**about: Any) -> forms.RegexField:
    return forms.RegexField(
        label=_("Currency"),
        regex=r"\A[A-Z]{3}\Z",
        error_messages={"invalid": _("Enter three capital letters, such as GBP.")},
        **about,
    )
