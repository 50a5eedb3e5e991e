"""Options of result pages, from the address."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from sxs_eval.selectors.across import USUAL_WIDTH

USUAL_POINTS = USUAL_WIDTH / 2
MIN_POINTS, MAX_POINTS = 0.5, 50.0


class WidthForm(forms.Form):
    """How exact a gain has to be: half the width of its interval."""

    points = forms.FloatField(
        label=_("Target interval: ± points"),
        min_value=MIN_POINTS,
        max_value=MAX_POINTS,
        initial=USUAL_POINTS,
        required=False,
        widget=forms.NumberInput(attrs={"step": "0.5"}),
    )

    @property
    def half_width(self) -> float:
        if not self.is_valid() or self.cleaned_data["points"] is None:
            return USUAL_POINTS
        return float(self.cleaned_data["points"])
