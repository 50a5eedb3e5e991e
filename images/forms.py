"""What managers send: a new collection, and files."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from images.models import Collection
from images.permissions import collections_in
from people.forms.owners import OwnerForm

LONGEST_NAME = Collection._meta.get_field("name").max_length


class CollectionForm(OwnerForm):
    name = forms.CharField(label=_("Name"), max_length=LONGEST_NAME)
    description = forms.CharField(label=_("Description"), required=False, widget=forms.Textarea(attrs={"rows": 3}))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.errors:
            return cleaned
        if collections_in(cleaned["project"], by=self.by).filter(name=cleaned["name"]).exists():
            self.add_error("name", gettext("There is already a collection with this name. Choose another name."))
        return cleaned


class SeveralFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class SeveralFilesField(forms.FileField):
    """Any number of files, as a list; also empty ones, so that the report can mention them."""

    widget = SeveralFilesInput(attrs={"multiple": True})

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[Any]]:
        files = data if isinstance(data, list | tuple) else [data] if data else []
        if not files:
            raise forms.ValidationError(self.error_messages["required"], code="required")
        return list(files)


class ImagesForm(forms.Form):
    images = SeveralFilesField(
        label=_("Files"),
        help_text=_(
            "Images (JPEG, PNG, WebP, TIFF, GIF), or a zip file of them. To give their authors and "
            "licences, add a manifest.csv or manifest.jsonl."
        ),
    )
