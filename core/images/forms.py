"""What managers send: a new collection, and files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection, CollectionImage, Image
from core.images.permissions import collections_in, collections_to_use
from core.images.rules.attributions import FIELDS, LABELS, with_address
from core.images.rules.manifests import path_inside
from core.images.selectors import filters
from core.images.selectors.attributions import ImageEdit
from core.people.forms.fields import NameCharField
from core.people.forms.owners import OwnerForm
from core.people.models import Project, User
from core.people.services.ownership import not_usable
from crosslens_metrics.formats.problems import LineError

IS_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
MAX_NAME_CHARACTERS = Collection._meta.get_field("name").max_length


class CollectionForm(OwnerForm):
    name = NameCharField(label=_("Name"), max_length=MAX_NAME_CHARACTERS)
    description = forms.CharField(label=_("Description"), required=False, widget=forms.Textarea(attrs={"rows": 3}))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.errors:
            return cleaned
        if collections_in(cleaned["project"], by=self.by).filter(name=cleaned["name"]).exists():
            self.add_error("name", gettext("There is already a collection with this name. Choose another name."))
        return cleaned


class CollectionNameForm(forms.Form):
    """A name that no other collection has beside this one; of a copy, not that of the first either."""

    name = NameCharField(label=_("Name"), max_length=MAX_NAME_CHARACTERS)
    description = forms.CharField(label=_("Description"), required=False, widget=forms.Textarea(attrs={"rows": 3}))

    def __init__(self, *args: Any, collection: Collection, by: User, is_copy: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.collection, self.by, self.is_copy = collection, by, is_copy
        if is_copy:
            del self.fields["description"]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        others = collections_in(self.collection.project, by=self.by).filter(name=name)
        if not self.is_copy:
            others = others.exclude(pk=self.collection.pk)
        if others.exists():
            raise forms.ValidationError(gettext("There is already a collection with this name. Choose another name."))
        return name


class UsableCollectionField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A collection that a project may use; another that the person may see is refused by its name and its owner's."""

    default_error_messages: ClassVar = {
        "invalid_choice": _("There is no such collection in this project. Choose another one.")
    }

    def __init__(self, **about: Any) -> None:
        usual: dict[str, Any] = {"label": _("Collection"), "empty_label": _("Choose…"), "to_field_name": "slug"}
        super().__init__(Collection.objects.none(), **usual | about)
        self.seen = Collection.objects.none()
        self.refusal: Callable[[Collection], str] = str

    def offer(self, project: Project | None, *, by: User, refusal: Callable[[Collection], str] | None = None) -> None:
        """Set the choices; `refusal` says why one that `by` may see is not among them."""
        self.queryset = collections_in(project, by=by)
        self.seen = collections_to_use(by).select_related("project")
        self.refusal = refusal or partial(not_usable, project=project)

    def to_python(self, value: Any) -> Any:
        try:
            return super().to_python(value)
        except forms.ValidationError:
            seen = self.seen.filter(slug=str(value).replace("\0", "")).first()
            if seen is None:
                raise
            raise forms.ValidationError(self.refusal(seen), code="invalid_choice") from None


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


class SeveralFilesForm(forms.Form):
    """Has a field `images` of files."""

    paths = forms.JSONField(required=False, widget=forms.HiddenInput)
    """Where the files lie in a folder that was dropped, in their order: the script sends it."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        paths = cleaned.get("paths")
        if paths is not None and not _are_paths(paths, cleaned.get("images", ())):
            self.add_error("images", gettext("The folders of these files cannot be read. Choose the files again."))
        return cleaned


def _are_paths(paths: object, files: Sequence[object]) -> bool:
    if not isinstance(paths, list) or len(paths) != len(files):
        return False
    try:
        return all(isinstance(path, str) and path_inside(path) == path for path in paths)
    except LineError:
        return False


class FindForm(forms.Form):
    """What to find in a collection. All choices are in the URL; `asked` has those that were made."""

    find = forms.CharField(label=_("Title, file, key or author"), required=False, max_length=200, strip=True)
    licence = forms.ChoiceField(label=_("Licence"), required=False)

    def __init__(self, sent: Mapping[str, str], *, collection: Collection, by: User) -> None:
        super().__init__(sent)
        self.collection, self.by = collection, by
        _offer(self.fields["licence"], self._licences(sent.get("licence", "")))
        for filter in filters.registered():
            choices = filter.choices(collection, by, sent.get(filter.name, ""))
            self.fields[filter.name] = forms.ChoiceField(label=filter.label, required=False)
            _offer(self.fields[filter.name], [("", any_value()), *choices])
        self.fields["import"] = forms.IntegerField(
            required=False, min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput
        )

    def found(self) -> QuerySet[CollectionImage]:
        """Return the entries that a valid form asks for; none if a filter refuses its value, with an error."""
        if self.is_valid():
            try:
                return filters.matching_entries(self.collection, self.by, self.asked)
            except filters.FilterError as refused:
                self.add_error(None, str(refused))
        return self.collection.entries.none()

    @property
    def asked(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.cleaned_data.items() if value}

    def _licences(self, asked: str) -> list[tuple[str, str]]:
        stored = [(f"{filters.IS}{licence}", licence) for licence in filters.licences_in(self.collection)]
        return [
            ("", any_value()),
            (filters.NONE, gettext("none")),
            (filters.NO_AUTHOR, gettext("author missing")),
            *stored,
            # It may stand in an address and be no longer in the collection.
            *([(asked, asked.removeprefix(filters.IS))] if asked.startswith(filters.IS) and "\0" not in asked else []),
        ]


class ChosenForm:
    """The images that an address chooses for an edit: some by name, or all that a search finds."""

    def __init__(self, sent: QueryDict, *, collection: Collection, by: User) -> None:
        self._sent, self._collection, self._by = sent, collection, by

    def found(self) -> QuerySet[CollectionImage]:
        if "all" in self._sent:
            return FindForm(self._sent, collection=self._collection, by=self._by).found()
        named = [UUID(text) for text in self._sent.getlist("image") if IS_UUID.fullmatch(text)]
        return self._collection.entries.order_by().filter(image__public_id__in=named)

    @property
    def back(self) -> str:
        """The address of the collection's page with the same search."""
        asked = {name: self._sent[name] for name in filters.parameters() if self._sent.get(name)}
        address = reverse("images:collection-show", args=[self._collection.slug])
        return f"{address}?{urlencode(asked)}" if asked else address


def any_value() -> str:
    return pgettext("choice of a filter", "any")


def _offer(field: Any, choices: Iterable[tuple[str, Any]]) -> None:
    field.choices = list(dict(choices).items())
    field.error_messages["invalid_choice"] = gettext("There is no such choice. Choose one of the list.")


class AttributionFields(forms.Form):
    """Title, author, licence and source as they are stored; the address of a well-known licence is added."""

    title = forms.CharField(label=LABELS["title"], required=False, max_length=500)
    author = forms.CharField(label=LABELS["author"], required=False, max_length=500)
    licence = forms.CharField(
        label=LABELS["licence"],
        required=False,
        max_length=200,
        help_text=_("Such as CC BY 4.0. Releases refuse images without one."),
        widget=forms.TextInput(attrs={"list": "licences"}),
    )
    licence_url = forms.URLField(
        label=LABELS["licence_url"],
        required=False,
        max_length=500,
        assume_scheme="https",
        help_text=_("Leave it empty for a Creative Commons licence: it is filled in."),
    )
    source = forms.CharField(
        label=LABELS["source"], required=False, max_length=1000, help_text=_("Where the image was found.")
    )

    def clean_licence_url(self) -> str:
        address: str = self.cleaned_data["licence_url"]
        if address and not address.startswith(("https://", "http://")):
            raise forms.ValidationError(gettext("Start the address with https:// or http://."))
        return address


class ImageEditForm(AttributionFields):
    """The edit of one image. `seen` is the newest change that its editor knows of."""

    seen = forms.IntegerField(min_value=0, max_value=2**63 - 1, widget=forms.HiddenInput)

    def values(self) -> dict[str, str]:
        return with_address({name: self.cleaned_data[name] for name in FIELDS})

    def again(self, image: Image, newest_change: int) -> ImageEditForm:
        """Return the form as it was filled in, beside what is stored by now, to be sent once more."""
        again = ImageEditForm({**self.cleaned_data, "seen": newest_change})
        again.full_clean()
        again.add_error(None, gettext("Somebody else changed this image meanwhile. Compare the values and save again."))
        for name in FIELDS:
            stored = getattr(image, name)
            if stored != self.cleaned_data[name]:
                again.add_error(name, gettext("Stored now: %(value)s") % {"value": stored or gettext("nothing")})
        return again

    def refuse_replacing(self) -> None:
        self.add_error(
            None,
            gettext(
                "This image is also in a collection that you do not manage. You can fill in what is missing, but "
                "not change what is stored."
            ),
        )


CHANGED_TOGETHER: Mapping[str, tuple[str, ...]] = {
    "title": ("title",),
    "author": ("author",),
    "licence": ("licence", "licence_url"),
    "source": ("source",),
}
"""Fields that one box of the edit for many stands for: a licence and its address belong together."""


class ManyImagesEditForm(AttributionFields):
    """The edit of many images: of each field whether to change it, and to what."""

    ALL, BLANK = "all", "blank"
    change_title = forms.BooleanField(label=_("Change the title"), required=False)
    change_author = forms.BooleanField(label=_("Change the author"), required=False)
    change_licence = forms.BooleanField(label=_("Change the licence and its address"), required=False)
    change_source = forms.BooleanField(label=_("Change the source"), required=False)
    which = forms.ChoiceField(
        label=_("Images to change"),
        choices=[(BLANK, _("only where nothing is stored yet")), (ALL, _("all, also where something else is stored"))],
        initial=BLANK,
        widget=forms.RadioSelect,
    )
    confirmed = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def new_values(self) -> list[tuple[str, str]]:
        return [(str(LABELS[name]), value) for name, value in self.edit().values.items()]

    def groups(self) -> list[tuple[forms.BoundField, list[forms.BoundField]]]:
        """Return each box with its fields."""
        return [(self[f"change_{name}"], [self[one] for one in names]) for name, names in CHANGED_TOGETHER.items()]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        chosen = [name for name in CHANGED_TOGETHER if cleaned.get(f"change_{name}")]
        if not chosen:
            raise forms.ValidationError(gettext("Tick at least one box to say what to change."))
        if cleaned.get("which") == self.BLANK:
            for name in chosen:
                if name not in self.errors and not cleaned.get(name):
                    self.add_error(name, gettext("Enter what to fill in."))
        return cleaned

    def edit(self) -> ImageEdit:
        cleaned = self.cleaned_data
        names = [name for box, several in CHANGED_TOGETHER.items() if cleaned[f"change_{box}"] for name in several]
        values = with_address({name: cleaned[name] for name in names})
        only_blank = cleaned["which"] == self.BLANK
        # Without a known address there is nothing to fill in.
        kept = {name: value for name, value in values.items() if value or not only_blank}
        return ImageEdit(kept, only_blank=only_blank)


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
