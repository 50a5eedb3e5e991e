"""The form of a new release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Release
from annotation.rules.releases import LICENCES
from annotation.selectors.releases import settings_of_next
from core.people.models import Project

TEXT_CHARACTERS = 20_000


class ReleaseForm(forms.Form):
    """Start from the values of the previous release."""

    title = forms.CharField(
        label=_("Title"), max_length=Release._meta.get_field("title").max_length, help_text=_("The title to cite.")
    )
    licence = forms.ChoiceField(
        label=_("Licence of the captions"),
        choices=[(spdx, f"{licence.name} ({spdx})") for spdx, licence in LICENCES.items()],
        help_text=_("Each image keeps its own licence, given in the list of images."),
    )
    authors = forms.CharField(
        label=_("Authors"),
        max_length=TEXT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("One per line: family name, given names. Write an institution without a comma."),
    )
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=TEXT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=_(
            "The start of the datasheet, in Markdown. Write what only you know: what the data was made "
            "for, who funded it, how people were recruited and paid, and whether there was an ethical "
            "review."
        ),
    )
    changes = forms.CharField(
        label=_("What changed"),
        required=False,
        max_length=TEXT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_(
            "In your own words. The captions added, changed and removed since the last release are counted for you."
        ),
    )

    include_images = forms.BooleanField(
        label=_("Include the images"),
        required=False,
        help_text=_(
            "As people saw them: at most 1,600 pixels wide or high. Images whose licence is neither Creative Commons "
            "nor the public domain are left out; the list of images says where they are from."
        ),
    )
    publish_coordinates = forms.BooleanField(
        label=_("Publish where each image was taken, as coordinates"),
        required=False,
        help_text=_(
            "Coordinates can show where somebody lives. You cannot take them back. Without this, the release gives "
            "only the country, region and continent of each image."
        ),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, project: Project) -> None:
        super().__init__(data, initial=settings_of_next(project))
