"""Forms about a collection as a whole."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.images.forms import MAX_NAME_CHARACTERS
from core.images.models import Collection, CollectionImage
from core.images.permissions import collections_in
from core.people.forms.fields import NameCharField
from core.people.models import User

MAX_REASON_CHARACTERS = CollectionImage._meta.get_field("exclusion_reason").max_length


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


class LeaveOutForm(forms.Form):
    """Why an image is left out of results."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=MAX_REASON_CHARACTERS,
        help_text=_("Managers and researchers who may see the collection can read it."),
    )
