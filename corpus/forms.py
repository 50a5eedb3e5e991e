"""What managers send: a new collection, and files."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from corpus.models import Collection


class CollectionForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Collection
        fields: ClassVar[list[str]] = ["name", "description"]
        labels: ClassVar[dict[str, Any]] = {"name": _("Name"), "description": _("Description")}
        widgets: ClassVar[dict[str, Any]] = {"description": forms.Textarea(attrs={"rows": 3})}

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Collection.objects.filter(name=name).exists():
            raise forms.ValidationError(_("There is a collection of this name already. Choose another name."))
        return name


class SeveralFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class SeveralFilesField(forms.FileField):
    """Any number of files, as a list; empty ones too, so that the report can tell of them."""

    widget = SeveralFilesInput(attrs={"multiple": True})

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[Any]]:
        files = data if isinstance(data, list | tuple) else [data] if data else []
        if not files:
            raise forms.ValidationError(self.error_messages["required"], code="required")
        return list(files)


class PicturesForm(forms.Form):
    pictures = SeveralFilesField(
        label=_("Files"),
        help_text=_(
            "Pictures (JPEG, PNG, WebP, TIFF, GIF), or a zip of them. Add a manifest.csv or manifest.jsonl to give "
            "their authors and licences."
        ),
    )
