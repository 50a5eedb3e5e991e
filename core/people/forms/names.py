"""The field of a name that people give to a thing."""

from __future__ import annotations

from typing import Any

from django import forms

from crosslens_metrics.formats.names import readable_name


class NameCharField(forms.CharField):
    """A name, in the one spelling in which names are compared; without a visible character it is empty."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return readable_name(text) if text else text
