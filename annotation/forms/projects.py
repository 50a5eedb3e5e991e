"""Forms that managers submit for a project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from allocation.forms import HIGHEST_REPLICATION, BatchesForm, batch_size_field, hours, is_open_field, lease_field
from annotation.forms.campaign import too_many_images
from annotation.models import Round, RoundKind, RoundState
from annotation.rules.campaign import MAIN, PILOT, PILOT_IMAGES
from annotation.selectors.overview import Coverage
from annotation.services.campaign import Beginning
from annotation.services.projects import NewRound, RoundSettings, settings_of
from images.models import Collection
from inference.models import CaptioningModel
from languages.models import Language

WANTED, REPLICATION = "language-", "replication-"


class CollectionForm(forms.Form):
    """The first step: all others depend on the collection."""

    collection = forms.ModelChoiceField(
        label=_("Collection"),
        queryset=Collection.objects.none(),
        to_field_name="slug",
        empty_label=_("Choose…"),
        help_text=_("The images to describe."),
        error_messages={"invalid_choice": _("This collection no longer exists. Choose another one.")},
    )

    def __init__(self, *args: Any, collections: QuerySet[Collection], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["collection"].queryset = collections  # type: ignore[attr-defined]


class _Batches(BatchesForm):
    batch_size = batch_size_field(
        label=_("Images per batch"),
        initial=15,
        help_text=_("How many images one person rates and then describes. The method uses 15."),
    )
    lease_h = lease_field(
        initial=24,
        help_text=_(
            "The batch expires after this time, and its images go to somebody else. Saving work extends the time."
        ),
    )


class LanguageChoice(NamedTuple):
    language: Language
    wanted: forms.BoundField
    replication: forms.BoundField


class LanguagesForm(_Batches):
    """Languages to caption a collection in, with the replication of each, after English captions of some models."""

    captioners = forms.ModelMultipleChoiceField(
        label=_("Models whose English captions are rated"),
        queryset=CaptioningModel.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("If you choose several, each image gets a caption by one of them, drawn at random."),
        error_messages={"required": _("Choose at least one model.")},
    )
    begin = forms.ChoiceField(
        label=_("How each language starts"),
        choices=[
            (PILOT, _("With a pilot: a few images first, to see whether people understand the guidelines")),
            (MAIN, _("With the main round")),
        ],
        widget=forms.RadioSelect,
        required=False,
        initial=PILOT,
        help_text=_("You can open the main round once a pilot is accepted."),
    )
    pilot_images = forms.IntegerField(
        label=_("Images in the pilot"),
        min_value=1,
        required=False,
        initial=PILOT_IMAGES,
        help_text=_("Drawn at random with a stored seed. The method uses 150."),
    )
    why_no_pilot = forms.CharField(
        label=_("Reason for having no pilot"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Needed only without a pilot. It is stored and appears in releases."),
    )

    def __init__(self, *args: Any, coverage: Coverage, languages: Sequence[Language], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.languages = languages
        self.most_images = coverage.by_any
        self.fields["pilot_images"].initial = min(PILOT_IMAGES, coverage.by_any)
        models = [model for model, count in coverage.by_model]
        self.fields["captioners"].queryset = CaptioningModel.objects.filter(pk__in=[model.pk for model in models])  # type: ignore[attr-defined]
        self.fields["captioners"].choices = [  # type: ignore[attr-defined]
            (model.pk, self._label(model, count, coverage.images)) for model, count in coverage.by_model
        ]
        self.fields["captioners"].initial = [model.pk for model in models]
        for language in languages:
            self.fields[WANTED + language.tag] = forms.BooleanField(label=language.name, required=False)
            self.fields[REPLICATION + language.tag] = forms.IntegerField(
                label=_("Captions per image in %(language)s") % {"language": language.name},
                min_value=1,
                max_value=HIGHEST_REPLICATION,
                initial=2,
                required=False,
            )

    @staticmethod
    def _label(model: CaptioningModel, count: int, images: int) -> str:
        text = ngettext("%(model)s: %(count)s of %(images)s image", "%(model)s: %(count)s of %(images)s images", images)
        return text % {"model": model.name, "count": count, "images": images}

    def choices(self) -> Iterator[LanguageChoice]:
        for language in self.languages:
            yield LanguageChoice(language, self[WANTED + language.tag], self[REPLICATION + language.tag])

    def plain_fields(self) -> list[forms.BoundField]:
        """All fields except the table of languages."""
        return [field for field in self if not field.name.startswith((WANTED, REPLICATION))]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        wanted = [language for language in self.languages if cleaned.get(WANTED + language.tag)]
        if not wanted:
            self.add_error(None, gettext("Choose at least one language."))
        for language in wanted:
            name = REPLICATION + language.tag
            if name in cleaned and cleaned[name] is None:
                self.add_error(name, gettext("Enter how many captions each image gets in this language."))
        if cleaned.get("begin") != MAIN and (cleaned.get("pilot_images") or 0) > self.most_images:
            self.add_error("pilot_images", too_many_images(self.most_images))
        if cleaned.get("begin") == MAIN and not cleaned.get("why_no_pilot"):
            self.add_error("why_no_pilot", gettext("Enter why these languages need no pilot."))
        return cleaned

    def beginning(self) -> Beginning:
        if self.cleaned_data["begin"] == MAIN:
            return Beginning(why_no_pilot=self.cleaned_data["why_no_pilot"])
        return Beginning(pilot_images=self.cleaned_data["pilot_images"] or PILOT_IMAGES)

    def new_rounds(self) -> list[NewRound]:
        return [
            NewRound(language, self.cleaned_data[REPLICATION + language.tag])
            for language in self.languages
            if self.cleaned_data[WANTED + language.tag]
        ]


class ProjectForm(LanguagesForm):
    name = forms.CharField(
        label=_("Name"), max_length=120, help_text=_("Annotators see this name. It can be in any language.")
    )
    field_order = ("name", "captioners", "batch_size", "lease_h", "begin", "pilot_images", "why_no_pilot")


class RoundForm(_Batches):
    replication = forms.IntegerField(
        label=_("Captions per image"),
        min_value=1,
        max_value=HIGHEST_REPLICATION,
        help_text=_("Each by a different person. If you lower this, nothing that is written or assigned is lost."),
    )
    is_open = is_open_field()
    needs_qualification = forms.BooleanField(
        label=_("Only for qualified people"),
        required=False,
        help_text=_("Other people get no new batches. Qualify people on the page of the language."),
    )
    sample_size = forms.IntegerField(label=_("Images drawn"), min_value=1, max_value=1_000_000, required=False)
    field_order = ("sample_size", "replication", "batch_size", "lease_h", "needs_qualification", "is_open")

    def __init__(self, data: Mapping[str, Any] | None = None, *, round: Round) -> None:
        settings = {name: value for name, value in asdict(settings_of(round)).items() if value is not None}
        super().__init__(data, initial=settings | {"lease_h": hours(settings.pop("lease_s"))})
        self.round = round
        if round.state != RoundState.OPEN:
            del self.fields["is_open"]
        if round.kind == RoundKind.VERIFICATION:
            self.fields["replication"].label = _("Raters per caption")
            self.fields["replication"].help_text = _("Each is a different person, and none is the author.")
            self.fields["batch_size"].label = _("Captions per batch")
            self.fields["batch_size"].help_text = ""
            self.fields["sample_size"].label = _("Captions to rate")
            self.fields["sample_size"].help_text = _(
                "One caption for each of this many images, drawn at random. Leave empty for all captions."
            )
        if round.state != RoundState.PLANNED or round.kind == RoundKind.MAIN:
            del self.fields["sample_size"]

    def settings(self) -> RoundSettings:
        before, said = settings_of(self.round), self.cleaned_data
        return RoundSettings(
            replication=said["replication"],
            batch_size=said["batch_size"],
            lease_s=self.lease_s(before=self.round.pool.lease_s),
            is_open=said.get("is_open", before.is_open),
            needs_qualification=said["needs_qualification"],
            sample_size=said.get("sample_size", before.sample_size),
        )
