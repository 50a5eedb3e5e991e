"""Forms that managers submit for a project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.forms.campaign import too_many_images
from annotation.models import Round, RoundKind, RoundState
from annotation.rules.campaign import MAIN, PILOT, PILOT_IMAGES
from annotation.rules.estimates import LanguagePlan
from annotation.selectors.estimates import SettingsUsed
from annotation.selectors.overview import EnglishCoverage
from annotation.services.campaign import LanguageBeginning, LanguageSettings
from annotation.services.projects import NewRound, RoundSettings, settings_of
from core.allocation.forms import MAX_REPLICATION, BatchesForm, batch_size_field, hours, is_open_field, lease_field
from core.images.forms import UsableCollectionField
from core.images.models import Collection
from core.languages.models import Language
from core.people.forms.fields import NameCharField, RowsField, currency_field, rate_field
from core.people.models import Project, User
from research.inference.models import CaptioningModel

REPLICATION = "replication-"
MAX_PEOPLE = 10_000


class CollectionForm(forms.Form):
    """The first step: all others depend on the collection."""

    collection = UsableCollectionField(help_text=_("The images to describe."))

    def __init__(self, *args: Any, project: Project | None, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["collection"]
        field.offer(project, by=by, refusal=None if project else _why_not_for_a_new_project)


def _why_not_for_a_new_project(collection: Collection) -> str:
    text = gettext("“%(name)s” belongs to the project “%(project)s”. Share it with all, or make a copy of it.")
    return text % {"name": collection, "project": collection.project}


class _RoundBatchesForm(BatchesForm):
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


class _EstimateForm(forms.Form):
    """What only the estimate needs."""

    people = forms.IntegerField(
        label=_("People in each language"), min_value=1, max_value=MAX_PEOPLE, initial=5, required=False
    )
    hours_a_day = forms.DecimalField(
        label=_("Hours a day, each"),
        min_value=Decimal("0.25"),
        max_value=24,
        decimal_places=2,
        initial=2,
        required=False,
    )
    rate = rate_field(required=False, help_text=_("Leave empty for an estimate without money."))
    currency = currency_field(required=False, help_text=_("Three letters, such as GBP."))

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("rate") is not None and not cleaned.get("currency") and "currency" not in self.errors:
            self.add_error("currency", gettext("Enter the currency of this rate."))
        return cleaned

    def estimate_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in _EstimateForm.base_fields]


class SettingUp(LanguageSettings):
    """Keyword arguments for both services.create_project and services.add_languages."""

    languages: list[NewRound]
    beginning: LanguageBeginning
    now: datetime


class LanguagesForm(_EstimateForm, _RoundBatchesForm):
    """Languages to caption a collection in, with the replication of each, after English captions of some models."""

    languages = forms.ModelMultipleChoiceField(
        label=_("Languages"),
        queryset=Language.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one language.")},
    )
    replication = forms.IntegerField(
        label=_("Captions per image"),
        min_value=1,
        max_value=MAX_REPLICATION,
        initial=2,
        help_text=_("In every language, each by a different person. The method uses 2."),
    )

    captioners = RowsField(
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

    def __init__(
        self,
        *args: Any,
        coverage: EnglishCoverage,
        languages: QuerySet[Language],
        last: SettingsUsed | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.offered = list(languages)
        self.most_images = coverage.by_any
        self.fields["languages"].queryset = languages  # type: ignore[attr-defined]
        models = [model for model, count in coverage.by_model]
        self.fields["captioners"].queryset = CaptioningModel.objects.filter(pk__in=[model.pk for model in models])  # type: ignore[attr-defined]
        self.fields["captioners"].choices = [  # type: ignore[attr-defined]
            (model.pk, self._label(model, count, coverage.images)) for model, count in coverage.by_model
        ]
        for language in self.offered:
            self.fields[REPLICATION + language.tag] = forms.IntegerField(
                label=language.name, min_value=1, max_value=MAX_REPLICATION, required=False
            )
        for name, value in _first_values(coverage, last).items():
            if name in self.fields:
                self.fields[name].initial = value

    @staticmethod
    def _label(model: CaptioningModel, count: int, images: int) -> str:
        text = ngettext("%(model)s: %(count)s of %(images)s image", "%(model)s: %(count)s of %(images)s images", images)
        return text % {"model": model.name, "count": count, "images": images}

    def own_replications(self) -> list[forms.BoundField]:
        return [self[REPLICATION + language.tag] for language in self.offered]

    @property
    def has_own_replications(self) -> bool:
        return any(field.errors or field.value() not in (None, "") for field in self.own_replications())

    def before_languages(self) -> list[forms.BoundField]:
        return [self[name] for name in ("name", "captioners") if name in self.fields]

    def after_languages(self) -> list[forms.BoundField]:
        return [self[name] for name in ("batch_size", "lease_h", "begin", "pilot_images", "why_no_pilot")]

    def typed(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was typed, as initial values of a form that does not judge it yet."""
        return {name: field.widget.value_from_datadict(data, {}, name) for name, field in self.fields.items()}

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("begin") != MAIN and (cleaned.get("pilot_images") or 0) > self.most_images:
            self.add_error("pilot_images", too_many_images(self.most_images))
        if cleaned.get("begin") == MAIN and not cleaned.get("why_no_pilot"):
            self.add_error("why_no_pilot", gettext("Enter why these languages need no pilot."))
        return cleaned

    def beginning(self) -> LanguageBeginning:
        if self.cleaned_data["begin"] == MAIN:
            return LanguageBeginning(why_no_pilot=self.cleaned_data["why_no_pilot"])
        return LanguageBeginning(pilot_images=self.cleaned_data["pilot_images"] or PILOT_IMAGES)

    def new_rounds(self) -> list[NewRound]:
        said = self.cleaned_data
        return [
            NewRound(language, said[REPLICATION + language.tag] or said["replication"])
            for language in sorted(said["languages"], key=lambda one: one.name)
        ]

    def setting_up(self, collection: Collection, *, seed: int, now: datetime) -> SettingUp:
        return {
            "collection": collection,
            "captioners": list(self.cleaned_data["captioners"]),
            "languages": self.new_rounds(),
            "batch_size": self.cleaned_data["batch_size"],
            "lease_s": self.lease_s(),
            "seed": seed,
            "beginning": self.beginning(),
            "now": now,
        }

    def plan(self, *, images: int) -> LanguagePlan:
        """Return the settings that the estimate of every language shares."""
        said = self.cleaned_data
        pilot = 0 if said["begin"] == MAIN else self.beginning().pilot_images
        return LanguagePlan(
            images=images,
            replication=said["replication"],
            batch_size=said["batch_size"],
            pilot_images=pilot,
            people=said["people"] or self.fields["people"].initial,
            hours_a_day=said["hours_a_day"] or Decimal(self.fields["hours_a_day"].initial),
            rate=said["rate"],
        )


def _first_values(coverage: EnglishCoverage, last: SettingsUsed | None) -> dict[str, Any]:
    """Return the values of the last project, as far as they are possible with this collection."""
    known = {model.pk for model, count in coverage.by_model}
    best = max(coverage.by_model, key=lambda one: one[1], default=None)
    values: dict[str, Any] = {
        "pilot_images": min((last and last.pilot_images) or PILOT_IMAGES, coverage.by_any),
        "captioners": sorted(last.captioners & known if last else ()) or ([best[0].pk] if best else []),
    }
    if last:
        values |= {"replication": last.replication, "batch_size": last.batch_size, "lease_h": hours(last.lease_s)}
        values |= {REPLICATION + tag: number for tag, number in last.own_replications.items()}
        values |= dict(zip(("rate", "currency"), last.rate or (), strict=False))
    return values


class ProjectNameForm(forms.Form):
    name = NameCharField(
        label=_("Name"), max_length=120, help_text=_("Annotators see this name. It can be in any language.")
    )


class ProjectForm(ProjectNameForm, LanguagesForm):
    pass


class RoundForm(_RoundBatchesForm):
    replication = forms.IntegerField(
        label=_("Captions per image"),
        min_value=1,
        max_value=MAX_REPLICATION,
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
            self.fields["replication"].label = _("Reviewers per caption")
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
