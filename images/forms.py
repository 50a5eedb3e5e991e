"""What managers send: a new collection, and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, Self, TypeVar

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from images.models import Collection, Image
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


FormT = TypeVar("FormT", bound=forms.Form)


class ChosenImages(Generic[FormT]):
    """Forms about chosen images in one page form, each with fields of its own number; numbers may have gaps.

    `form_class` has a hidden field `image`, a `ModelChoiceField`.
    """

    form_class: type[FormT]
    prefix: str
    most: int

    def __init__(
        self, data: Mapping[str, Any] | None, *, images: QuerySet[Image], stored: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        self.images = images
        if data is None:
            self.forms = [self._form(None, number, initial) for number, initial in enumerate(stored)]
        else:
            self.forms = [self._form(data, number) for number in self._numbers(data)]

    @classmethod
    def as_typed(cls, data: Mapping[str, Any], *, images: QuerySet[Image]) -> Self:
        """Return the forms with the submitted values and without errors."""
        made = cls(data, images=images)
        made.forms = [made._form(None, number, made._typed(data, number)) for number in made._numbers(data)]
        return made

    def do(self, do: str, *, image: str) -> str:
        """Add or remove a form, as a button asks; returns why that is not possible, for people."""
        if do == "add":
            chosen = self.images.filter(pk=image).first() if image.isdecimal() and len(image) < 19 else None
            if chosen is None:
                return gettext("Choose an image first.")
            if len(self.forms) >= self.most:
                return gettext("You can have at most %(most)d examples. Remove some first.") % {"most": self.most}
            number = 1 + max((_number_of(form) for form in self.forms), default=-1)
            self.forms.append(self._form(None, number, {"image": chosen.pk}))
        elif do.startswith("drop-"):
            self.forms = [form for form in self.forms if form.prefix != do.removeprefix("drop-")]
        return ""

    def are_valid(self) -> bool:
        # All are validated, so that each shows its own errors.
        valid = [form.is_valid() for form in self.forms]
        return all(valid)

    def __iter__(self) -> Iterator[FormT]:
        return iter(self.forms)

    def __len__(self) -> int:
        return len(self.forms)

    def _form(self, data: Mapping[str, Any] | None, number: int, initial: Mapping[str, Any] | None = None) -> FormT:
        form = self.form_class(data, prefix=f"{self.prefix}-{number}", initial=dict(initial or {}))
        form.fields["image"].queryset = self.images  # type: ignore[attr-defined]
        return form

    def _typed(self, data: Mapping[str, Any], number: int) -> dict[str, Any]:
        names = self.form_class.base_fields
        return {name: data.get(f"{self.prefix}-{number}-{name}", "") for name in names}

    def _numbers(self, data: Mapping[str, Any]) -> list[int]:
        start, end = f"{self.prefix}-", "-image"
        found = (name[len(start) : -len(end)] for name in data if name.startswith(start) and name.endswith(end))
        return sorted({int(number) for number in found if number.isdecimal() and len(number) < 6})[: self.most]


def _number_of(form: forms.Form) -> int:
    return int(str(form.prefix).rpartition("-")[2])
