"""What to score: models, metrics, and what these need; and two scorings to compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection
from core.images.permissions import collections_in
from core.languages.models import Language
from core.people.forms.fields import RowsField
from core.people.models import Project
from core.people.templatetags.moments import date_in_words
from crosslens_metrics.java import ToolMissingError, java
from crosslens_metrics.scoring import METRICS
from research.inference.models import CaptioningModel, EmbeddingSet, Encoder
from research.inference.services.encoders import visual_encoders
from research.scoring.models import ReferenceSet, Scoring, Tokenizer
from research.scoring.rules.metrics import needs_projections, needs_references, needs_vectors
from research.scoring.selectors.setup import ReferenceCoverage, english_for, features_for, vectors_for
from research.scoring.services.scorings import ScoringPart

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
    """Models against the references of many languages at once, with the usual tokens of each.

    Of word vectors, English references and features, those are used that a set of references can: one at most.
    """

    references = forms.MultipleChoiceField(label=_("References"), widget=forms.CheckboxSelectMultiple)
    models = forms.MultipleChoiceField(label=_("Models"), widget=forms.CheckboxSelectMultiple)
    metrics = forms.MultipleChoiceField(label=_("Metrics"), widget=forms.CheckboxSelectMultiple, initial=BASIC_METRICS)
    normalise = forms.BooleanField(label=_("Lower-case, and remove punctuation"), required=False, initial=True)

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        coverages: Sequence[tuple[ReferenceSet, Sequence[ReferenceCoverage]]],
    ) -> None:
        super().__init__(data, prefix="many")
        self.coverages = coverages
        sets = [one for one, _rows in coverages]
        models = {row.model.pk: row.model.name for _set, rows in coverages for row in rows}
        given = {
            "references": [(one.pk, reference_label(one)) for one in sets],
            "models": sorted(models.items(), key=lambda choice: choice[1]),
        }
        for name, choices in given.items():
            field: Any = self.fields[name]
            field.choices, field.initial = choices, [pk for pk, _label in choices]
        encoders = visual_encoders(sets[0].project) if sets else []
        metrics: Any = self.fields["metrics"]
        metrics.choices = metric_choices(has_vectors=vectors_for(*sets).exists(), has_encoders=bool(encoders))
        self.fields |= input_fields(*sets, encoders=encoders, is_several=True)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        for name, of_what in OF_WHAT.items():
            if max(Counter(map(of_what, cleaned.get(name, ()))).values(), default=0) > 1:
                self.add_error(name, gettext("Choose at most one for each language or collection."))
        return cleaned

    def chosen(self) -> list[ScoringPart]:
        """Return each set with the models that have captions of its images, and with what it can use."""
        sets, models = (self.cleaned_data[name] for name in ("references", "models"))
        return [
            ScoringPart(one, [row.model for row in rows if str(row.model.pk) in models], self._usable_with(one))
            for one, rows in self.coverages
            if str(one.pk) in sets
        ]

    def _usable_with(self, references: ReferenceSet) -> dict[str, Any]:
        usable: dict[str, Any] = {name: self.cleaned_data.get(name) for name in ("encoder", "english_encoder")}
        for name, offered in (("vectors", vectors_for), ("english", english_for), ("features", features_for)):
            if chosen := self.cleaned_data.get(name):
                usable[name] = self._comparable(name, offered(references).filter(pk__in=chosen)).first()
        return usable

    def _comparable(self, name: str, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Those in the space of the encoder, which is known once it was loaded."""
        encoder = self.cleaned_data.get("encoder")
        space = encoder.space if name == "features" and encoder is not None else ""
        return rows.filter(encoder__space=space) if space else rows


OF_WHAT: dict[str, Callable[[Any], Hashable]] = {
    "vectors": lambda one: one.language_id,
    "english": lambda one: one.collection_id,
    "features": lambda one: (one.run.collection_id, one.encoder.space),
}
"""Of each of these, a set of references uses one."""


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
        self.encoders = visual_encoders(references.project)
        metrics: Any = self.fields["metrics"]
        metrics.choices = [
            (name, title)
            for name, title in metric_choices(has_vectors=self.vectors.exists(), has_encoders=bool(self.encoders))
            if not (references.is_without_captions and needs_references(name))
        ]
        if references.is_without_captions:
            # Nothing is cut into tokens.
            for name in ("tokenizer", "normalise"):
                del self.fields[name]
        self.why_no_java = why_no_java()
        metrics.help_text = " ".join([self._about_java(), *self._about_encoders()])
        self.fields |= input_fields(references, encoders=self.encoders)

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


def metric_choices(*, has_vectors: bool, has_encoders: bool) -> list[tuple[str, str]]:
    return [
        (name, ", ".join(figure.title for figure in metric.figures))
        for name, metric in METRICS.items()
        if (has_vectors or not needs_vectors(name)) and (has_encoders or not needs_projections(name))
    ]


def input_fields(*sets: ReferenceSet, encoders: Sequence[Encoder], is_several: bool = False) -> dict[str, forms.Field]:
    """What metrics need besides captions and references, each left out where there is nothing to choose from.

    With `is_several`, one for each language or collection of `sets`, and each space; the newest are ticked.
    """
    fields: dict[str, forms.Field] = {}
    vectors, english, features = vectors_for(*sets), english_for(*sets), features_for(*sets)

    def offer(name: str, rows: QuerySet[Any], label: Promise, help_text: Promise) -> None:
        about: dict[str, Any] = {"label": label, "help_text": help_text, "required": False}
        if is_several:
            newest = {OF_WHAT[name](one): one.pk for one in rows.order_by("pk")}
            about |= {"widget": forms.CheckboxSelectMultiple, "initial": list(newest.values())}
            fields[name] = RowsField(rows, **about)
        else:
            fields[name] = forms.ModelChoiceField(rows, empty_label=_("none"), **about)

    if vectors.exists():
        offer("vectors", vectors, _("Word vectors"), _("For WMDRel, which compares words by their vectors."))
    if not encoders:
        return fields
    by_key = Encoder.objects.filter(pk__in=[one.pk for one in encoders]).order_by("name")
    fields["encoder"] = forms.ModelChoiceField(
        by_key,
        label=_("Encoder of the captions"),
        required=False,
        empty_label=_("none"),
        help_text=_("For CLinRel, CMedRel and WCC: a CLIP-like model that knows the language, or a projection for it."),
    )
    if english.exists():
        offer(
            "english",
            english,
            _("English references"),
            _("For CLinRel and WCC, which compare the captions with them."),
        )
        fields["english_encoder"] = forms.ModelChoiceField(
            by_key,
            label=_("Encoder of the English references"),
            required=False,
            empty_label=_("same as for the captions"),
            help_text=_("If the encoder of the captions is a projection: the English one for the same space."),
        )
    if features.exists():
        offer(
            "features",
            features,
            _("Features of the images"),
            _("For CMedRel and WCC: vectors of the collection, in the space of the encoder."),
        )
    for name, label in (("english", english_label), ("features", features_label)):
        if name in fields:
            field: Any = fields[name]
            field.label_from_instance = label
    return fields


def english_label(one: ReferenceSet) -> str:
    return f"{one.collection}: {one.name}"


def features_label(one: EmbeddingSet) -> str:
    text = ngettext("%(encoder)s, %(number)d image, %(day)s", "%(encoder)s, %(number)d images, %(day)s", one.rows)
    values = {"encoder": one.encoder.name, "number": one.rows, "day": date_in_words(one.created_at)}
    return f"{one.run.collection}: {text % values}"


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
