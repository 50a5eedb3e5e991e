"""Options of result pages, from the address."""

from __future__ import annotations

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from crosslens_metrics.reports.evaluation_points import MIN_IMAGES, PointRules
from sxs_eval.selectors.across import USUAL_WIDTH

USUAL_POINTS = USUAL_WIDTH / 2
MIN_POINTS, MAX_POINTS = 0.5, 50.0
MAX_IMAGES = 1_000_000


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


class PointsForm(forms.Form):
    """Which comparisons are points of a metric; a field that cannot be used has its usual value."""

    flip = forms.ChoiceField(
        label=_("Points"),
        choices=[("yes", _("original and with flipped signs")), ("no", _("original only"))],
        required=False,
    )
    min_images = forms.IntegerField(
        label=_("Images judged, at least"), min_value=0, max_value=MAX_IMAGES, initial=MIN_IMAGES, required=False
    )
    with_chosen = forms.BooleanField(label=_("With comparisons that the metric itself chose"), required=False)

    @classmethod
    def asked(cls, query: QueryDict) -> PointsForm:
        return cls({"min_images": MIN_IMAGES, **query.dict()})

    @property
    def rules(self) -> PointRules:
        self.is_valid()
        given = self.cleaned_data
        least = given.get("min_images")
        return PointRules(
            flip=given.get("flip") != "no",
            min_images=MIN_IMAGES if least is None else least,
            with_chosen=bool(given.get("with_chosen")),
        )
