"""A form to search a set of items."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from gapgame.models import CorpusSplit, ItemSet

MAX_SEARCH_CHARACTERS = 100
USES = (("", _("all")), ("1", _("in use")), ("0", _("off")), ("skipped", _("skipped by players")))


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
