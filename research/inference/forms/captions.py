"""The form with which people import a file of captions."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection
from core.images.permissions import collections_to_use
from core.languages.models import Language
from core.people.forms.fields import NameCharField
from core.people.forms.owners import OwnerForm
from core.people.models import Owned, User
from core.people.permissions import in_charge
from research.inference.models import CaptioningModel
from research.inference.permissions import may_steer, models_in
from research.inference.services.imports import model_to_fill

MODEL_NAME_CHARACTERS = 120
ENGLISH = "en"


class SwitchOffForm(forms.Form):
    """Why a caption is switched off."""

    reason = forms.CharField(label=_("Reason"), max_length=500, help_text=_("Managers of its project can read it."))


class CaptionsForm(OwnerForm):
    made_of = ("collection",)

    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,
        help_text=_(
            "One JSON object on each line with “image” (key, file name or SHA-256) and “caption”; a JSON list of such "
            "objects; or COCO results (“image_id” and “caption”)."
        ),
    )
    model = NameCharField(
        label=_("Model"),
        max_length=MODEL_NAME_CHARACTERS,
        help_text=_("The model's name here. A new model is created if there is none of this name."),
    )
    language = forms.ModelChoiceField(Language.objects.all(), label=_("Language of the captions"), initial=ENGLISH)
    collection = forms.ModelChoiceField(
        Collection.objects.none(),
        to_field_name="slug",
        label=_("Collection"),
        required=False,
        empty_label=_("any"),
        help_text=_("Where to look for the images. Needed if two collections use the same key for different images."),
    )

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, by=by, **kwargs)
        field: Any = self.fields["collection"]
        field.queryset = collections_to_use(by)
        # PostgreSQL cannot search for a NUL.
        slug = str(self.get_initial_for_field(field, "collection") or "").replace("\0", "")
        chosen = field.queryset.filter(slug=slug, is_shared=False)
        self.fields["project"].initial = chosen.values_list("project", flat=True).first() or self.only_project
        self.fields["project"].help_text = _(
            "The project that owns a new model. Only its managers and researchers see it."
        )

    def parts_in(self, cleaned: dict[str, Any]) -> list[Owned]:
        """Return the collection, or else the model of this name, if only one is the person's to fill."""
        named = CaptioningModel.objects.filter(in_charge(self.by), name=cleaned.get("model", "")).order_by("pk")[:2]
        return super().parts_in(cleaned) or (list(named) if len(named) == 1 else [])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.errors:
            return cleaned
        self.check_usable(cleaned | {"is_shared": False}, "collection")
        model = model_to_fill(cleaned["model"], cleaned["project"], by=self.by)
        if model is not None and not may_steer(self.by, model):
            self.add_error(
                "model",
                gettext(
                    "Only managers and researchers of its project can add captions to this model. Choose another name."
                ),
            )
        elif model is None and models_in(cleaned["project"], by=self.by).filter(name=cleaned["model"]).exists():
            self.add_error("model", gettext("Another project shares a model with this name. Choose another name."))
        return cleaned
