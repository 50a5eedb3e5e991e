"""Forms to import candidates, to start a selection and to exchange one of its images."""

from __future__ import annotations

from random import SystemRandom
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection
from core.images.permissions import collections_in
from core.languages.models import Language
from core.people.forms.fields import NameCharField
from core.people.models import Project
from research.selection.models import CandidateList, PlaceLevelChoice
from research.selection.selectors.pools import is_complete
from research.selection.services.selections import MAX_PER_LANGUAGE, MAX_SEED, NAME_CHARACTERS

PER_LANGUAGE = 100
SEED_BITS = 32
COLLECTION, CANDIDATES = "collection:", "candidates:"
MAX_REASON_CHARACTERS = 500


class SourceSelect(forms.Select):
    """A list in which sources that cannot be chosen from yet are shown and cannot be picked."""

    unfinished: frozenset[str] = frozenset()

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(name, value, *args, **kwargs)
        if value in self.unfinished:
            option["attrs"]["disabled"] = True
        return option


class SelectionForm(forms.Form):
    """What to choose from, for which languages, and how."""

    source = forms.ChoiceField(
        label=_("Choose from"),
        widget=SourceSelect,
        help_text=_("A collection whose images have coordinates, or a candidate list."),
    )
    languages = forms.MultipleChoiceField(
        label=_("Languages"),
        required=False,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "choices"}),
        help_text=_("Tick none for all of them."),
    )
    per_language = forms.IntegerField(
        label=_("Images per language"),
        min_value=1,
        max_value=MAX_PER_LANGUAGE,
        initial=PER_LANGUAGE,
        help_text=_("The method uses 100."),
    )
    levels = forms.MultipleChoiceField(
        label=_("Levels"),
        choices=PlaceLevelChoice.choices,
        initial=PlaceLevelChoice.values,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "An image is taken from the best level that has one left: a region where the language is spoken, a "
            "country, a continent, or anywhere."
        ),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=MAX_SEED,
        help_text=_("The same seed and the same images give the same selection."),
    )
    name = NameCharField(
        label=_("Name (optional)"),
        required=False,
        max_length=NAME_CHARACTERS,
        help_text=_("Also the name of the collection of the images chosen."),
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sources: dict[str, Collection | CandidateList] = {
            **{f"{COLLECTION}{one.slug}": one for one in collections_in(project).order_by("name", "pk")},
            **{f"{CANDIDATES}{one.slug}": one for one in project.candidate_lists.order_by("name", "pk")},
        }
        of_kind: dict[str, list[tuple[str, str]]] = {COLLECTION: [], CANDIDATES: []}
        unfinished = {
            value for value, one in self.sources.items() if isinstance(one, CandidateList) and not is_complete(one)
        }
        for value, source in self.sources.items():
            kind = COLLECTION if isinstance(source, Collection) else CANDIDATES
            text = gettext("%(name)s (import not finished)") if value in unfinished else "%(name)s"
            of_kind[kind].append((value, text % {"name": source.name}))
        widget: Any = self.fields["source"].widget
        widget.unfinished = frozenset(unfinished)
        languages = list(Language.objects.all())
        self.by_tag = {one.tag: one for one in languages}
        self._choices(
            "source",
            [
                ("", gettext("Choose…")),
                (gettext("Collections"), of_kind[COLLECTION]),
                (gettext("Candidate lists"), of_kind[CANDIDATES]),
            ],
        )
        self._choices("languages", [(one.tag, one.name) for one in languages])
        self.fields["seed"].initial = SystemRandom().getrandbits(SEED_BITS)

    def _choices(self, name: str, choices: list[Any]) -> None:
        field: Any = self.fields[name]
        field.choices = choices

    @property
    def about(self) -> dict[str, Any]:
        """Return the values to start a selection, of a valid form."""
        cleaned = self.cleaned_data
        return {
            "source": self.sources[cleaned["source"]],
            "languages": [self.by_tag[tag] for tag in cleaned["languages"] or self.by_tag],
            "levels": cleaned["levels"],
            **{name: cleaned[name] for name in ("per_language", "seed", "name")},
        }


class ConfirmForm(forms.Form):
    """Which collections a selection becomes."""

    by_language = forms.BooleanField(
        label=_("Also make one collection per language"),
        required=False,
        help_text=_(
            "Every language can caption all images, as in Crossmodal-3600. With collections of their own, rounds of a "
            "language can take only the images chosen for it."
        ),
    )


class ExchangeForm(forms.Form):
    """Why an image leaves, and which takes its place."""

    replacement = forms.ChoiceField(
        label=_("Replace with"),
        required=False,
        widget=forms.RadioSelect,
        help_text=_("The best ones come first."),
        error_messages={"invalid_choice": _("“%(value)s” is no longer free. Choose another image.")},
    )
    named = forms.CharField(
        label=_("Key of another image (optional)"), required=False, max_length=200, help_text=_("Instead of these.")
    )
    reason = forms.CharField(
        label=_("Reason"),
        max_length=MAX_REASON_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("It is stored with the selection."),
        error_messages={"required": _("Enter a reason.")},
    )

    def __init__(self, *args: Any, keys: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["replacement"]
        field.choices = [(key, key) for key in keys]
        if keys:
            field.initial = keys[0]
        else:
            del self.fields["replacement"]

    @property
    def key(self) -> str:
        """Return the key of the image chosen, of a valid form; empty for the next in order."""
        return self.cleaned_data["named"].strip() or self.cleaned_data.get("replacement", "")
