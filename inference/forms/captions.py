"""What managers send: a file of captions."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from corpus.models import Collection
from languages.models import Language

MODEL_NAME_CHARACTERS = 120
ENGLISH = "en"


class CaptionsForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,
        help_text=_(
            "One JSON object on each line with “image” (key, file name or SHA-256) and “caption”; a JSON list of such "
            "objects; or COCO results (“image_id” and “caption”)."
        ),
    )
    model = forms.CharField(
        label=_("Model"),
        max_length=MODEL_NAME_CHARACTERS,
        help_text=_("The name it goes by here. A new one is made where there is none."),
    )
    language = forms.ModelChoiceField(Language.objects.all(), label=_("Language of the captions"), initial=ENGLISH)
    collection = forms.ModelChoiceField(
        Collection.objects.all(),
        to_field_name="slug",
        label=_("Collection"),
        required=False,
        empty_label=_("any"),
        help_text=_("Where the images are looked for. Needed where two collections use the same key for two images."),
    )
