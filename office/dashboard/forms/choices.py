"""The form of which e-mails somebody wants."""

from __future__ import annotations

from typing import Any

from django import forms

from office.dashboard.models import EmailChoices
from office.dashboard.selectors.choices import KINDS_OF_WORK


class EmailChoicesForm(forms.ModelForm):  # type: ignore[type-arg]
    """Only what concerns the person: those who annotate or rate, managers and researchers, or both."""

    class Meta:
        model = EmailChoices
        fields = (*[kind.value for kind in KINDS_OF_WORK], "digest")

    def __init__(self, *args: Any, works: bool, manages: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not works:
            for kind in KINDS_OF_WORK:
                del self.fields[kind.value]
        if not manages:
            del self.fields["digest"]
