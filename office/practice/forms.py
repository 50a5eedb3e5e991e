"""The form of the next version of a practice: nothing is stored before it is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Rating
from core.images.forms import ChosenImages
from core.images.models import Image
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from office.practice.models import PracticeItem, PracticeKind, PracticeSet
from office.practice.rules.beginning import DRAWINGS
from office.practice.rules.grading import BETTER, SIMILAR
from office.practice.services.sets import NewItem

MAX_CAPTION_CHARACTERS = 1_000
MAX_EXAMPLES = 50


class PracticeForm(forms.Form):
    is_required = forms.BooleanField(
        label=_("Nobody gets this work before they pass"), required=False, initial=True,
    )  # fmt: skip
    pass_percent = forms.IntegerField(
        label=_("Right answers needed, in per cent"), min_value=1, max_value=100, initial=80
    )
    tries = forms.IntegerField(label=_("Tries"), min_value=1, max_value=10, initial=2)
    asks_again = forms.BooleanField(
        label=_("Ask people again who passed an earlier version"),
        required=False,
        help_text=_(
            "For example after new guidelines. They keep their open batches, and get the next when they have passed."
        ),
    )
    after = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, data: Mapping[str, Any] | None = None, *, last: PracticeSet | None) -> None:
        initial: dict[str, Any] = {"after": 0}
        if last is not None:
            initial = {name: getattr(last, name) for name in ("is_required", "pass_percent", "tries")}
            initial["after"] = last.version
        super().__init__(data, initial=initial)

    @classmethod
    def as_typed(cls, data: Mapping[str, Any], *, last: PracticeSet | None) -> PracticeForm:
        """Return the form with the submitted values and without errors."""
        form = cls(last=last)
        form.initial = {name: data.get(name, "") for name in cls.base_fields}
        return form


class ItemForm(forms.Form):
    image = forms.ModelChoiceField(queryset=Image.objects.none(), required=False, widget=forms.HiddenInput)
    drawing = forms.ChoiceField(
        choices=[("", ""), *((name, name) for name in DRAWINGS)], required=False, widget=forms.HiddenInput
    )
    language = forms.ModelChoiceField(
        label=_("Language of the captions"), queryset=Language.objects.all(), initial=ENGLISH
    )
    caption = forms.CharField(
        label=_("Caption"), max_length=MAX_CAPTION_CHARACTERS, widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"})
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and bool(cleaned.get("image")) == bool(cleaned.get("drawing")):
            raise forms.ValidationError(gettext("Choose an image first."))
        return cleaned

    def item(self) -> NewItem:
        cleaned = dict(self.cleaned_data)
        return NewItem(**cleaned | {"also_right": ",".join(cleaned.get("also_right", []))})


def _why() -> forms.CharField:
    return forms.CharField(
        label=_("Reason"),
        max_length=2_000,
        help_text=_("People read it after they have answered. You can use Markdown."),
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )


class RatingItemForm(ItemForm):
    answer = forms.ChoiceField(label=_("Level"), choices=Rating.choices, initial=Rating.EXCELLENT)
    also_right = forms.MultipleChoiceField(
        label=_("Also right"), choices=Rating.choices, required=False, widget=forms.CheckboxSelectMultiple
    )
    why = _why()


class WritingItemForm(ItemForm):
    mentions = forms.CharField(
        label=_("What a caption must mention"),
        required=False,
        max_length=2_000,
        help_text=_("One thing on each line, with | between words for the same thing, such as: dog | puppy"),
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )  # fmt: skip
    why = _why()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["caption"].label = _("A good caption, shown afterwards")


class ComparingItemForm(ItemForm):
    other_caption = forms.CharField(
        label=_("Other caption"),
        max_length=MAX_CAPTION_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )
    answer = forms.ChoiceField(
        label=_("Answer"),
        choices=[(BETTER, _("The first caption is better")), (SIMILAR, _("Both are similar"))],
        initial=BETTER,
    )
    why = _why()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["caption"].label = _("First caption")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("caption") and cleaned.get("caption") == cleaned.get("other_caption"):
            self.add_error("other_caption", gettext("Both captions are the same."))
        return cleaned


class _ItemForms(ChosenImages[ItemForm]):
    prefix = "example"
    most = MAX_EXAMPLES


class RatingItems(_ItemForms):
    form_class = RatingItemForm


class WritingItems(_ItemForms):
    form_class = WritingItemForm


class ComparingItems(_ItemForms):
    form_class = ComparingItemForm


ITEMS: Mapping[PracticeKind, type[_ItemForms]] = {
    PracticeKind.RATING: RatingItems, PracticeKind.WRITING: WritingItems, PracticeKind.COMPARING: ComparingItems,
}  # fmt: skip


def stored_items(last: PracticeSet | None) -> list[dict[str, Any]]:
    """Return what the forms of the examples of a version begin with."""
    fields = ("image", "drawing", "language", "caption", "other_caption", "answer", "also_right", "mentions", "why")
    rows = PracticeItem.objects.filter(practice=last).order_by("position").values(*fields) if last else []
    return [row | {"also_right": [level for level in row["also_right"].split(",") if level]} for row in rows]
