"""Forms to make a named subset, and to rename it."""

from __future__ import annotations

from random import SystemRandom
from typing import Any

from django import forms
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection
from core.images.permissions import collections_in
from core.people.forms.fields import NameCharField
from core.people.models import Project
from research.selection.formats.keys import KeyFileError, read_keys
from research.selection.models import Subset
from research.selection.rules.image_filters import MAX_FILTER_CHARACTERS, ImageFilter, ImageFilterError, parse
from research.selection.services.subsets import MAX_SEED, SubsetError, SubsetRequest, images_wanted

MAX_FILE_BYTES = 5 * 2**20
MAX_LINES = 100_000
"""Of keys: as many are looked up in half a second, while the page waits for them."""
MAX_DESCRIPTION_CHARACTERS = 2000
SEED_BITS = 32
SLUG_CHARACTERS = 80


class NamesForm(forms.Form):
    """What a subset is called."""

    name = NameCharField(label=_("Name"), max_length=Subset._meta.get_field("name").max_length)
    description = forms.CharField(
        label=_("Description (optional)"),
        required=False,
        max_length=MAX_DESCRIPTION_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )


class SubsetForm(NamesForm):
    """A new subset: from keys, from a file of keys, or from a filter and a sample. Valid, it has `images`."""

    slug = forms.SlugField(
        label=_("Short name (optional)"),
        required=False,
        max_length=SLUG_CHARACTERS,
        help_text=_("Image filters use it, as in “subset:xm600”. It cannot be changed later. Without one, it follows "
                    "from the name."),
    )  # fmt: skip
    collection = forms.ModelChoiceField(
        label=_("Collection"),
        queryset=Collection.objects.none(),
        to_field_name="slug",
        required=False,
        empty_label=_("All collections of the project"),
    )
    keys = forms.CharField(
        label=_("Keys"),
        required=False,
        strip=False,
        max_length=MAX_FILE_BYTES,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "dir": "ltr"}),
        help_text=_("One key per line."),
    )
    file = forms.FileField(
        label=_("File of keys"),
        required=False,
        allow_empty_file=True,
        help_text=_("A text file with one key per line, or CSV with a column “key”. At most 100,000 lines and 5 MB."),
    )
    only = forms.CharField(
        label=_("Image filter"),
        max_length=MAX_FILTER_CHARACTERS,
        required=False,
        widget=forms.TextInput(attrs={"dir": "ltr"}),
        help_text=_(
            "“in:IN-WB” takes images from a region, “on:AS” from a continent, “level:region” those chosen from a "
            "level, “chosen:bn” those chosen for a language. Separate several terms by commas; all of them must hold."
        ),
    )
    sample = forms.IntegerField(
        label=_("Number of images"),
        min_value=1,
        required=False,
        help_text=_("Drawn at random. Leave empty for all images that match the filter."),
    )
    per_language = forms.BooleanField(
        label=_("Draw this many for each language of the selections"),
        required=False,
        help_text=_("From the images chosen for the language in confirmed selections."),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=MAX_SEED,
        required=False,
        help_text=_("The same seed and the same images give the same subset."),
    )
    field_order = ("name", "slug", "description", "collection")

    images: list[int]

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        self.fields["collection"].queryset = collections_in(project).order_by("name", "pk")  # type: ignore[attr-defined]
        self.fields["seed"].initial = SystemRandom().getrandbits(SEED_BITS)

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"].lower()
        return slug or slugify(self.cleaned_data.get("name", ""))[:SLUG_CHARACTERS].strip("-")

    def clean_keys(self) -> list[str] | None:
        if not self.cleaned_data["keys"].strip():
            return None
        try:
            return read_keys(self.cleaned_data["keys"].encode())
        except KeyFileError as error:
            raise forms.ValidationError(str(error)) from error

    def clean_file(self) -> list[str] | None:
        file = self.cleaned_data["file"]
        if file is None:
            return None
        if file.size > MAX_FILE_BYTES:
            raise forms.ValidationError(gettext("The file is larger than 5 MB."))
        try:
            return read_keys(file.read())
        except KeyFileError as error:
            raise forms.ValidationError(str(error)) from error

    def clean_only(self) -> ImageFilter:
        try:
            return parse(self.cleaned_data["only"])
        except ImageFilterError as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not cleaned.get("slug") and "slug" not in self.errors and "name" not in self.errors:
            self.add_error("slug", gettext("Enter a short name: letters a–z, digits and hyphens."))
        if not self.errors:
            self._find_images(cleaned)
        return cleaned

    def _find_images(self, cleaned: dict[str, Any]) -> None:
        if cleaned["keys"] is not None and cleaned["file"] is not None:
            self.add_error("file", gettext("Paste keys or choose a file, not both."))
            return
        field = "keys" if cleaned["keys"] is not None else "file" if cleaned["file"] is not None else None
        if field and len(cleaned[field]) > MAX_LINES:
            text = gettext("The list has more than %(limit)s lines. Use an image filter, or the command image_subset.")
            self.add_error(field, text % {"limit": MAX_LINES})
            return
        wanted = SubsetRequest(
            keys=cleaned[field] if field else None,
            images=cleaned["only"],
            collection=cleaned["collection"],
            sample=cleaned["sample"],
            per_language=cleaned["per_language"],
            seed=cleaned["seed"] or 0,
        )
        try:
            self.images = images_wanted(self.project, wanted)
        except SubsetError as refused:
            self.add_error(field, refused.problems)
        except ImageFilterError as error:
            self.add_error("only", str(error))

    def _named(self, *names: str) -> list[forms.BoundField]:
        return [self[name] for name in names]

    def name_fields(self) -> list[forms.BoundField]:
        return self._named("name", "slug", "description", "collection")

    def key_fields(self) -> list[forms.BoundField]:
        return self._named("keys", "file")

    def drawn_fields(self) -> list[forms.BoundField]:
        return self._named("only", "sample", "per_language", "seed")
