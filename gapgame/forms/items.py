"""Forms to upload a file of items with its images, and to search a set."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from core.images.forms import SeveralFilesField
from core.images.models import Collection
from core.images.permissions import collections_in
from core.languages.models import Language
from core.people.forms.fields import NameCharField
from core.people.models import Project
from gapgame.models import CorpusSplit, ItemSet

MAX_SEARCH_CHARACTERS = 100
USES = (("", _("all")), ("1", _("in use")), ("0", _("off")), ("skipped", _("skipped by players")))


class _OptionalFiles(SeveralFilesField):
    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[Any]]:
        return super().clean(data, initial) if data else []


class ItemsForm(forms.Form):
    items = forms.FileField(
        label=_("File of sentences"),
        allow_empty_file=True,
        help_text=_("One JSON object per line, or a JSON list. You can also use sents.json from MultiSubs."),
    )
    images = _OptionalFiles(
        label=_("Images"),
        required=False,
        help_text=_(
            "A zip, or the image files, with a manifest.csv or manifest.jsonl that gives their authors and "
            "licences. Not needed if the collections below contain them."
        ),
    )
    collections = forms.ModelMultipleChoiceField(
        Collection.objects.none(),
        to_field_name="slug",
        label=_("Collections"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Images named by key, file name or SHA-256 are also looked up in these collections."),
    )
    embeddings = forms.FileField(
        label=_("Embeddings of the images"),
        required=False,
        help_text=_(
            "A NumPy archive (.npz) or JSON Lines with “image” and “vector”. The image closest to the others "
            "becomes the first hint. Without embeddings, it is the representative image named in the file, or "
            "else the first."
        ),
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Collections of item sets have random keys: nobody names images by them.
        others = collections_in(project).exclude(pk__in=ItemSet.objects.values("collection")).order_by("name", "pk")
        self.fields["collections"].queryset = others  # type: ignore[attr-defined]
        if not others.exists():
            del self.fields["collections"]

    def uploads(self) -> dict[str, Any]:
        """Return the arguments of `start_upload`."""
        names = ("items", "images", "embeddings", "collections")
        return {name: self.cleaned_data[name] for name in names if self.cleaned_data.get(name)}


class ItemSetForm(ItemsForm):
    """A new set, with its first file."""

    name = NameCharField(
        label=_("Name"),
        max_length=ItemSet._meta.get_field("name").max_length,
        help_text=_("Each season uses one set. Players cannot see its name or keys."),
    )
    field_order = ("name",)


class FilterForm(forms.Form):
    language = forms.ModelChoiceField(
        Language.objects.none(), label=_("Language"), required=False, empty_label=_("all")
    )
    split = forms.TypedChoiceField(
        label=_("Split"), choices=[("", _("all")), *CorpusSplit.choices], coerce=int, empty_value=None, required=False
    )
    use = forms.ChoiceField(label=_("Use"), choices=USES, required=False)
    search = forms.CharField(
        label=_("Word or sentence"), max_length=MAX_SEARCH_CHARACTERS, required=False, widget=forms.SearchInput
    )

    def __init__(self, data: Any, *, item_set: ItemSet) -> None:
        super().__init__(data)
        tags = item_set.items.values("language").distinct()
        self.fields["language"].queryset = Language.objects.filter(pk__in=tags)  # type: ignore[attr-defined]

    def chosen(self) -> dict[str, Any]:
        """Return the arguments of `items_of`; none if the address has invalid values."""
        if not self.is_valid():
            return {}
        return {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}
