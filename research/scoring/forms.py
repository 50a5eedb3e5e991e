"""The shape of what managers and researchers send in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection
from core.images.permissions import collections_in
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.forms.fields import NameCharField
from core.people.models import Project, User
from core.people.templatetags.moments import date_in_words
from crosslens_metrics.java import ToolMissingError, java
from crosslens_metrics.scoring import METRICS
from research.inference.backends.captioners import Decoding
from research.inference.forms.trainings import TrainingForm
from research.inference.models import CaptioningModel, EmbeddingSet, Encoder, Translator
from research.inference.selectors.models import translators
from research.inference.services.encoders import visual_encoders
from research.scoring.models import ReferenceSet, Scoring, Tokenizer
from research.scoring.rules.metrics import needs_projections, needs_references, needs_vectors
from research.scoring.selectors.setup import ReferenceCoverage, english_for, features_for, vectors_for

MAX_NAME_CHARACTERS = 120
NEEDS_JAVA = "java"
BASIC_METRICS = ("cider", "cider-d", "bleu", "rouge-l")
WITHOUT_REFERENCES = ("cmedrel",)


def why_no_java() -> str:
    """What is to be done about it; empty where Java is there."""
    try:
        java()
    except ToolMissingError as error:
        return str(error)
    return ""


class ReferenceSetForm(forms.Form):
    """The first step of a new scoring: models and tokens depend on the references."""

    references = forms.ModelChoiceField(
        label=_("References"),
        queryset=ReferenceSet.objects.none(),
        empty_label=_("Choose…"),
        help_text=_("Captions that people wrote. The models' captions are compared with them."),
        error_messages={"invalid_choice": _("These references no longer exist. Choose others.")},
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, sets: Sequence[ReferenceSet]) -> None:
        super().__init__(data)
        field: Any = self.fields["references"]
        field.queryset = ReferenceSet.objects.filter(pk__in=[one.pk for one in sets])
        field.choices = [("", _("Choose…")), *((one.pk, reference_label(one)) for one in sets)]


class WithoutReferencesForm(forms.Form):
    """Images and a language to score captions in, for metrics that need no references."""

    collection = forms.ModelChoiceField(
        Collection.objects.none(), to_field_name="slug", label=_("Collection"), empty_label=_("Choose…")
    )
    language = forms.ModelChoiceField(Language.objects.all(), label=_("Language"), empty_label=_("Choose…"))

    def __init__(self, data: Mapping[str, Any] | None = None, *, project: Project) -> None:
        super().__init__(data)
        self.fields["collection"].queryset = collections_in(project)  # type: ignore[attr-defined]


def reference_label(one: ReferenceSet) -> str:
    text = ngettext(
        "%(language)s: %(name)s (%(number)d image)", "%(language)s: %(name)s (%(number)d images)", one.images
    )
    return text % {"language": one.language.name, "name": one.name, "number": one.images}


class ManyScoringsForm(forms.Form):
    """Models against the references of many languages at once, with the usual tokens of each."""

    references = forms.MultipleChoiceField(label=_("References"), widget=forms.CheckboxSelectMultiple)
    models = forms.MultipleChoiceField(label=_("Models"), widget=forms.CheckboxSelectMultiple)
    metrics = forms.MultipleChoiceField(
        label=_("Metrics"),
        widget=forms.CheckboxSelectMultiple,
        initial=BASIC_METRICS,
        choices=[
            (name, ", ".join(figure.title for figure in metric.figures))
            for name, metric in METRICS.items()
            if not needs_vectors(name) and not needs_projections(name)
        ],
    )
    normalise = forms.BooleanField(label=_("Lower-case, and remove punctuation"), required=False, initial=True)

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        coverages: Sequence[tuple[ReferenceSet, Sequence[ReferenceCoverage]]],
    ) -> None:
        super().__init__(data, prefix="many")
        self.coverages = coverages
        models = {row.model.pk: row.model.name for _set, rows in coverages for row in rows}
        given = {
            "references": [(one.pk, reference_label(one)) for one, _rows in coverages],
            "models": sorted(models.items(), key=lambda choice: choice[1]),
        }
        for name, choices in given.items():
            field: Any = self.fields[name]
            field.choices, field.initial = choices, [pk for pk, _label in choices]

    def chosen(self) -> list[tuple[ReferenceSet, list[CaptioningModel]]]:
        """Return each set with the models that have captions of its images."""
        sets, models = (self.cleaned_data[name] for name in ("references", "models"))
        ticked = [(one, rows) for one, rows in self.coverages if str(one.pk) in sets]
        return [(one, [row.model for row in rows if str(row.model.pk) in models]) for one, rows in ticked]


class ScoringForm(forms.Form):
    """The second step: whose captions, by what, on which tokens."""

    models = forms.MultipleChoiceField(
        label=_("Models"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Models with captions in this language of images that have references."),
    )
    metrics = forms.MultipleChoiceField(label=_("Metrics"), widget=forms.CheckboxSelectMultiple)
    tokenizer = forms.ChoiceField(
        label=_("Tokens"),
        choices=Tokenizer.choices,
        help_text=_(
            "Languages written without spaces need ICU or characters. Penn Treebank is for English, as in "
            "the public COCO tool."
        ),
    )
    normalise = forms.BooleanField(
        label=_("Lower-case, and remove punctuation"),
        required=False,
        help_text=_("Applies to captions and references. The signature of each score records it."),
    )

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, references: ReferenceSet, coverage: Sequence[ReferenceCoverage]
    ) -> None:
        initial = {"tokenizer": references.usual_tokenizer, "normalise": True}
        basic = WITHOUT_REFERENCES if references.is_without_captions else BASIC_METRICS
        super().__init__(data, initial={**initial, "metrics": basic})
        self.references = references
        self.vectors = vectors_for(references)
        self.by_key = {str(row.model.pk): row.model for row in coverage}
        models: Any = self.fields["models"]
        models.choices = [(row.model.pk, self._label(row, references)) for row in coverage]
        has_vectors = self.vectors.exists()
        self.encoders = visual_encoders(references.project)
        metrics: Any = self.fields["metrics"]
        metrics.choices = [
            (name, ", ".join(figure.title for figure in metric.figures))
            for name, metric in METRICS.items()
            if (has_vectors or not needs_vectors(name))
            and (self.encoders or not needs_projections(name))
            and not (references.is_without_captions and needs_references(name))
        ]
        if references.is_without_captions:
            # Nothing is cut into tokens.
            for name in ("tokenizer", "normalise"):
                del self.fields[name]
        self.why_no_java = why_no_java()
        metrics.help_text = " ".join([self._about_java(), *self._about_encoders()])
        if has_vectors:
            self.fields["vectors"] = forms.ModelChoiceField(
                label=_("Word vectors"),
                queryset=self.vectors,
                required=False,
                empty_label=_("none"),
                help_text=_("For WMDRel, which compares words by their vectors."),
            )
        if self.encoders:
            self.fields |= visual_fields(references, self.encoders)

    @staticmethod
    def _label(row: ReferenceCoverage, references: ReferenceSet) -> str:
        text = ngettext(
            "%(model)s (%(number)d of %(all)d image)", "%(model)s (%(number)d of %(all)d images)", references.images
        )
        return text % {"model": row.model.name, "number": row.images, "all": references.images}

    def _about_java(self) -> str:
        needing = [METRICS[name].figures[0].title for name in METRICS if NEEDS_JAVA in METRICS[name].needs]
        message = gettext("%(metrics)s and Penn Treebank tokens need Java and the public COCO tool.") % {
            "metrics": ", ".join(needing)
        }
        return f"{message} {self.why_no_java or gettext('Java is there.')}"

    def _about_encoders(self) -> list[str]:
        if self.encoders:
            return []
        return [gettext("CLinRel, CMedRel and WCC need an encoder of captions in an image space. Register one first.")]

    def clean_models(self) -> list[CaptioningModel]:
        return [self.by_key[key] for key in self.cleaned_data["models"]]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        return {"tokenizer": Tokenizer.WHITESPACE, "normalise": False} | cleaned


def visual_fields(references: ReferenceSet, encoders: Sequence[Encoder]) -> dict[str, forms.Field]:
    """What CLinRel, CMedRel and WCC need, each left out where there is nothing to choose from."""
    by_key = Encoder.objects.filter(pk__in=[one.pk for one in encoders]).order_by("name")
    fields: dict[str, forms.Field] = {
        "encoder": forms.ModelChoiceField(
            by_key,
            label=_("Encoder of the captions"),
            required=False,
            empty_label=_("none"),
            help_text=_(
                "For CLinRel, CMedRel and WCC: a CLIP-like model that knows the language, or a projection for it."
            ),
        ),
    }
    english, features = english_for(references), features_for(references)
    if english.exists():
        fields["english"] = forms.ModelChoiceField(
            english,
            label=_("English references"),
            required=False,
            empty_label=_("none"),
            help_text=_("For CLinRel and WCC, which compare the captions with them."),
        )
        fields["english_encoder"] = forms.ModelChoiceField(
            by_key,
            label=_("Encoder of the English references"),
            required=False,
            empty_label=_("same as for the captions"),
            help_text=_("If the encoder of the captions is a projection: the English one for the same space."),
        )
    if features.exists():
        fields["features"] = _FeaturesField(
            features,
            label=_("Features of the images"),
            required=False,
            empty_label=_("none"),
            help_text=_("For CMedRel and WCC: vectors of the collection, in the space of the encoder."),
        )
    return fields


class _FeaturesField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: EmbeddingSet) -> str:
        text = ngettext("%(encoder)s, %(number)d image, %(day)s", "%(encoder)s, %(number)d images, %(day)s", obj.rows)
        day = date_in_words(obj.created_at)
        return text % {"encoder": obj.encoder.name, "number": obj.rows, "day": day}


class ReferenceTrainingForm(TrainingForm):
    """A training on references of a project."""

    references = forms.ModelMultipleChoiceField(
        ReferenceSet.objects.none(),
        label=_("References"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("The captions to learn from."),
    )
    validation = forms.ModelMultipleChoiceField(
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
    mixed_with = forms.ModelMultipleChoiceField(
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


class SignificanceMethod:
    BOOTSTRAP, PERMUTATION = "bootstrap", "permutation"
    CHOICES = ((BOOTSTRAP, _("Bootstrap over images")), (PERMUTATION, _("Permutation of each image's two captions")))


class CompareForm(forms.Form):
    """Two scorings against the same references."""

    test = forms.ModelChoiceField(Scoring.objects.none(), label=_("First"), empty_label=_("Choose…"))
    base = forms.ModelChoiceField(
        Scoring.objects.none(),
        label=_("Second"),
        empty_label=_("Choose…"),
        help_text=_("A difference above zero means that the first model is better."),
    )
    method = forms.ChoiceField(
        label=_("Method"), choices=SignificanceMethod.CHOICES, initial=SignificanceMethod.BOOTSTRAP, required=False
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, project: Project, labels: Mapping[int, str]) -> None:
        super().__init__(data)
        for name in ("test", "base"):
            field: Any = self.fields[name]
            field.queryset = Scoring.objects.filter(project=project).select_related(
                "project", "model", "references__language", "references__collection"
            )
            field.choices = [("", _("Choose…")), *labels.items()]
            field.error_messages["invalid_choice"] = _("There is no such scoring in this project.")

    def clean_method(self) -> str:
        return str(self.cleaned_data["method"] or SignificanceMethod.BOOTSTRAP)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        test, base = cleaned.get("test"), cleaned.get("base")
        if test is not None and base is not None:
            if test == base:
                self.add_error("base", gettext("Choose a different model from the first."))
            elif test.references_id != base.references_id:
                self.add_error(
                    "base",
                    gettext(
                        "The two models are scored against different references, so they cannot be compared. "
                        "Choose another."
                    ),
                )
        return cleaned
