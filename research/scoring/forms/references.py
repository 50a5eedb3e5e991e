"""What models are trained on, and what is translated: references of a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.forms.fields import NameCharField, RowsField
from core.people.models import User
from research.inference.backends.captioners import Decoding
from research.inference.forms.trainings import TrainingForm
from research.inference.models import Translator
from research.inference.selectors.models import translators
from research.scoring.forms.scores import reference_label
from research.scoring.models import ReferenceSet

MAX_NAME_CHARACTERS = 120


class ReferenceTrainingForm(TrainingForm):
    """A training on references of a project."""

    references = RowsField(
        ReferenceSet.objects.none(),
        label=_("References"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("The captions to learn from."),
    )
    validation = RowsField(
        ReferenceSet.objects.none(),
        label=_("References for validation"),
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("Of other images. Without any, some images of those above are kept for validation."),
    )
    validation_percent = forms.FloatField(
        label=_("Images kept for validation, in percent"), min_value=0.1, max_value=90, initial=10
    )
    leaves_out_evaluated = forms.BooleanField(
        label=_("Leave out images of evaluation sets"),
        required=False,
        help_text=_("Otherwise the training is refused if its references have images on which models are evaluated."),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        by: User,
        sets: Sequence[ReferenceSet],
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, by=by, initial=initial)
        for name in ("references", "validation"):
            field: Any = self.fields[name]
            offered = [one for one in sets if not one.is_evaluation and not one.is_without_captions]
            field.queryset = ReferenceSet.objects.filter(pk__in=[one.pk for one in offered])
            field.choices = [(one.pk, reference_label(one)) for one in offered]
        first = ("name", "base", "features", "references", "validation", "validation_percent", "leaves_out_evaluated")
        self.order_fields([*first, *(name for name in self.fields if name not in first)])

    def about(self) -> dict[str, Any]:
        """Return what to train on what, of a valid form."""
        cleaned = self.cleaned_data
        return {
            "name": cleaned["name"],
            "base": cleaned["base"],
            "features": cleaned.get("features"),
            "references": list(cleaned["references"]),
            "validation": list(cleaned["validation"]),
            "validation_share": cleaned["validation_percent"] / 100,
            "leaves_out_evaluated": cleaned["leaves_out_evaluated"],
            "options": self.options,
        }


class ReferenceTranslationForm(forms.Form):
    """English references, to be translated."""

    languages = forms.ModelMultipleChoiceField(
        Language.objects.exclude(pk=ENGLISH),
        label=_("Languages"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Each gets a set of its own."),
    )
    translator = forms.ModelChoiceField(
        Translator.objects.none(),
        label=_("Translator"),
        empty_label=_("Choose…"),
        help_text=_("The signature of each score against the new references names it."),
    )
    name = NameCharField(label=_("Name"), max_length=MAX_NAME_CHARACTERS, help_text=_("The same in all languages."))
    mixed_with = RowsField(
        ReferenceSet.objects.none(),
        label=_("Mix with captions of people"),
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_(
            "Their captions go into the new set of their language, before the translations. WMDRel cannot use mixed "
            "references."
        ),
    )
    beams = forms.IntegerField(label=_("Beams"), min_value=1, max_value=64, initial=5)
    max_tokens = forms.IntegerField(label=_("Maximum tokens"), min_value=1, max_value=1024, initial=128)

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, by: User, english: ReferenceSet, people: Sequence[ReferenceSet]
    ) -> None:
        name = gettext("%(name)s, translated") % {"name": english.name}
        super().__init__(data, initial={"name": name[:MAX_NAME_CHARACTERS]})
        translator: Any = self.fields["translator"]
        translator.queryset = translators(by)
        self.has_translators = translator.queryset.exists()
        languages: Any = self.fields["languages"]
        languages.choices = sorted(((one.pk, one.name) for one in languages.queryset), key=lambda choice: choice[1])
        mixed: Any = self.fields["mixed_with"]
        mixed.queryset = ReferenceSet.objects.filter(pk__in=[one.pk for one in people]).select_related("language")
        mixed.choices = [(one.pk, reference_label(one)) for one in people]
        if not people:
            del self.fields["mixed_with"]

    def answers(self) -> dict[str, Any]:
        """Return what `start_translations` asks for. Call it on a valid form."""
        said = self.cleaned_data
        return {
            "languages": list(said["languages"]),
            "translator": said["translator"],
            "mixed_with": list(said.get("mixed_with", [])),
            "decoding": Decoding(beams=said["beams"], max_tokens=said["max_tokens"]),
            "name": said["name"],
        }
