"""Forms to set up and change comparisons, and to decide about raters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import Q
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from core.allocation.forms import MAX_REPLICATION, BatchesForm, batch_size_field, hours, is_open_field, lease_field
from core.images.forms import UsableCollectionField
from core.languages.models import Language
from core.people.models import Project, User
from crosslens_metrics.scales import SEVEN_POINTS
from research.inference.models import CaptioningModel
from research.selection.rules.image_filters import MAX_FILTER_CHARACTERS, ImageFilter, ImageFilterError, parse
from sxs_eval.models import SCALE_CHOICES, Comparison, EqualCaptions
from sxs_eval.rules.judging import CHECKS_BEFORE_PAUSE, FAILURES_PERCENT, GOLD_PERCENT, REPEAT_PERCENT
from sxs_eval.selectors.planning import ComparisonSetting, FilteredImages, LanguageCoverage
from sxs_eval.services.comparisons import ATTENTION, PoolSettings

MAX_ATTENTION_PERCENT = 50
MAX_CHECKS = 1000
MAX_SEED = 2**53 - 1
MAX_NOTE_CHARACTERS = 500
MAX_GOLD_FILE_BYTES = 10**6
WANTED = "language-"


class CollectionForm(forms.Form):
    """The first step: the others depend on the collection."""

    collection = UsableCollectionField(help_text=_("The captions describe the images of this collection."))

    def __init__(self, *args: Any, project: Project, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["collection"].offer(project, by=by)  # type: ignore[attr-defined]


class ModelsForm(forms.Form):
    """The second step: the languages depend on both models."""

    collection = forms.CharField(widget=forms.HiddenInput)
    base = forms.ModelChoiceField(
        label=_("Base model"),
        queryset=CaptioningModel.objects.none(),
        empty_label=_("Choose…"),
        help_text=_("The test model is measured against this one."),
    )
    test = forms.ModelChoiceField(
        label=_("Test model"),
        queryset=CaptioningModel.objects.none(),
        empty_label=_("Choose…"),
        help_text=_("A gain above zero means that raters prefer its captions to those of the base model."),
    )

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, models: Sequence[tuple[CaptioningModel, int]], **kwargs: Any
    ) -> None:
        super().__init__(data, **kwargs)
        offered = [("", _("Choose…")), *((model.pk, self._label(model, number)) for model, number in models)]
        for name in ("base", "test"):
            field = self.fields[name]
            field.queryset = CaptioningModel.objects.filter(pk__in=[model.pk for model, _number in models])  # type: ignore[attr-defined]
            field.choices = offered  # type: ignore[attr-defined]
            field.error_messages["invalid_choice"] = gettext("This model has no captions of this collection.")

    @staticmethod
    def _label(model: CaptioningModel, languages: int) -> str:
        text = ngettext("%(model)s (%(number)d language)", "%(model)s (%(number)d languages)", languages)
        return text % {"model": model.name, "number": languages}

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("base") and cleaned.get("base") == cleaned.get("test"):
            self.add_error("test", gettext("A model cannot be compared with itself. Choose another one."))
        return cleaned


class _JudgingForm(BatchesForm):
    """How a comparison is judged; all of it can be changed later."""

    replication = forms.IntegerField(
        label=_("Raters per pair"),
        min_value=1,
        max_value=MAX_REPLICATION,
        initial=3,
        help_text=_("Each pair is judged by this many different people. The method uses 3."),
    )
    batch_size = batch_size_field(
        label=_("Pairs per batch"),
        initial=20,
        help_text=_("How many a rater takes at a time. Attention items are added to these."),
    )
    lease_h = lease_field(
        initial=4,
        help_text=_(
            "A rater who does not finish in this time loses the pairs that are not judged yet. The deadline is "
            "extended while they keep judging."
        ),
    )
    gold_percent = forms.IntegerField(
        label=_("Gold pairs per 100 pairs"),
        min_value=0,
        max_value=MAX_ATTENTION_PERCENT,
        initial=GOLD_PERCENT,
        help_text=_(
            "Pairs where the better caption is known. They never count, and show which raters do not pay "
            "attention. If you import none, they are drawn at random: a caption of the image against one of "
            "another image."
        ),
    )
    repeat_percent = forms.IntegerField(
        label=_("Repeats per 100 pairs"),
        min_value=0,
        max_value=MAX_ATTENTION_PERCENT,
        initial=REPEAT_PERCENT,
        help_text=_("Pairs that a rater sees a second time with the sides swapped. The second answer does not count."),
    )
    checks_before_pause = forms.IntegerField(
        label=_("Attention items before a rater can be paused"),
        min_value=1,
        max_value=MAX_CHECKS,
        initial=CHECKS_BEFORE_PAUSE,
        help_text=_(
            "Gold pairs and repeats together. With few of them, chance alone pauses many raters who pay attention."
        ),
    )
    failures_percent = forms.IntegerField(
        label=_("Pause a rater above this many failures in 100"),
        min_value=0,
        max_value=100,
        initial=FAILURES_PERCENT,
        help_text=_(
            "A paused rater gets no more pairs, and their judgements do not count until a manager decides. "
            "With 100, nobody is paused."
        ),
    )


class ComparisonForm(_JudgingForm):
    """The third step: in which languages, over which images, and how."""

    subset = forms.IntegerField(
        label=_("Number of images"),
        min_value=1,
        required=False,
        help_text=_("Leave empty for the whole collection. Otherwise this many are drawn at random with the seed."),
    )
    only = forms.CharField(
        label=_("Image filter"),
        max_length=MAX_FILTER_CHARACTERS,
        required=False,
        help_text=_(
            "Leave empty for all images. “region” uses images taken where the language is spoken, “subset:xm600” "
            "a named subset, “level:country” images chosen from that level."
        ),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=MAX_SEED,
        help_text=_("Comparisons with the same seed and number of images use the same images."),
    )
    scale = forms.TypedChoiceField(
        label=_("Scale"), choices=SCALE_CHOICES, coerce=int, initial=SEVEN_POINTS.points, widget=forms.RadioSelect
    )
    equal_captions = forms.ChoiceField(
        label=_("Pairs with equal captions"),
        choices=EqualCaptions.choices,
        initial=EqualCaptions.SHOWN,
        widget=forms.RadioSelect,
    )
    field_order = ("subset", "only", "seed", "scale", "equal_captions")

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        coverage: Sequence[LanguageCoverage],
        images: int,
        seed: int,
        left: Callable[[Language, ImageFilter], FilteredImages],
    ) -> None:
        super().__init__(data, initial={"seed": seed})
        self.coverage, self.images = [row for row in coverage if row.images], images
        self._left, self.left = left, dict[str, FilteredImages]()
        self.impossible = [row.language for row in coverage if not row.images]
        for row in self.coverage:
            self.fields[WANTED + row.language.tag] = forms.BooleanField(label=row.language.name, required=False)

    def choices(self) -> list[tuple[LanguageCoverage, forms.BoundField]]:
        return [(row, self[WANTED + row.language.tag]) for row in self.coverage]

    def image_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("only", "subset", "seed", "equal_captions")]

    def judging_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("scale", "replication", "batch_size", "lease_h")]

    def attention_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ATTENTION]

    def clean_subset(self) -> int | None:
        subset: int | None = self.cleaned_data["subset"]
        if subset is not None and subset > self.images:
            text = gettext("The collection has only %(images)d images. Leave this empty to use all of them.")
            raise forms.ValidationError(text % {"images": self.images})
        return subset

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not any(cleaned.get(WANTED + row.language.tag) for row in self.coverage):
            self.add_error(None, gettext("Choose at least one language."))
        elif cleaned.get("only"):
            self._count_left(cleaned["only"])
        return cleaned

    def clean_only(self) -> str:
        try:
            return str(parse(self.cleaned_data["only"]))
        except ImageFilterError as error:
            raise forms.ValidationError(str(error)) from error

    def _count_left(self, only: str) -> None:
        """Count the images of each chosen language, and refuse a language without any."""
        for row in self.chosen():
            try:
                self.left[row.language.pk] = self._left(row.language, parse(only))
            except ImageFilterError as error:
                self.add_error("only", str(error))
                return
        for text, names in (
            (
                gettext("The collection has no such image for these languages: %(languages)s."),
                [row.language.name for row in self.chosen() if not self.left_in(row).images],
            ),
            (
                gettext("Both models describe none of these images in these languages: %(languages)s."),
                [row.language.name for row in self.chosen() if self.left_in(row).images and not self.described(row)],
            ),
        ):
            if names:
                self.add_error("only", text % {"languages": ", ".join(names)})

    def left_in(self, row: LanguageCoverage) -> FilteredImages:
        return self.left.get(row.language.pk, FilteredImages(self.images, row.images))

    def described(self, row: LanguageCoverage) -> int:
        return self.left_in(row).described

    def short(self) -> dict[int, list[str]]:
        """Return the languages in which both models describe fewer images, of those left, than wanted.

        By the number wanted, the largest first: a filter may leave other numbers in other languages.
        """
        short: dict[int, list[str]] = defaultdict(list)
        for row in sorted(self.chosen(), key=lambda row: -self.wanted(row)):
            if self.described(row) < self.wanted(row):
                short[self.wanted(row)].append(f"{row.language.name} ({self.described(row)})")
        return short

    def wanted(self, row: LanguageCoverage) -> int:
        left = self.left_in(row).images
        return min(left, self.cleaned_data["subset"] or left)

    def chosen(self) -> list[LanguageCoverage]:
        return [row for row in self.coverage if self.cleaned_data[WANTED + row.language.tag]]

    def languages(self) -> list[Language]:
        return [row.language for row in self.chosen()]

    def setting(self) -> ComparisonSetting:
        given = self.cleaned_data
        return ComparisonSetting(
            images=given["only"],
            equal_captions=EqualCaptions(given["equal_captions"]),
            lease_s=self.lease_s(),
            **{name: given[name] for name in ("subset", "seed", "scale", "replication", "batch_size", *ATTENTION)},
        )


class SettingsForm(_JudgingForm):
    is_open = is_open_field()

    def __init__(self, data: Mapping[str, Any] | None = None, *, comparison: Comparison) -> None:
        pool = comparison.pool
        initial = {name: getattr(pool, name) for name in ("replication", "batch_size", "is_open")}
        initial |= {name: getattr(comparison, name) for name in ATTENTION}
        super().__init__(data, initial=initial | {"lease_h": hours(pool.lease_s)})
        self.comparison = comparison
        self.fields["replication"].help_text = _(
            "Each pair is judged by this many different people. A lower number does not affect pairs that are "
            "judged or assigned."
        )
        if comparison.source:
            self.fields["is_open"].disabled = True
            self.fields["is_open"].help_text = _("The judgements are from a file, so nobody is asked for more.")

    def settings(self) -> PoolSettings:
        given = self.cleaned_data
        return PoolSettings(
            lease_s=self.lease_s(before=self.comparison.pool.lease_s),
            **{name: given[name] for name in ("batch_size", "is_open", *ATTENTION)},
        )


class GoldFileForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "One JSON object per line with “image” (key, file name or SHA-256), “better” and “worse”: two "
            "captions in the language of the comparison. At most 2,000 lines and 1 MB."
        ),
    )
    only_these = forms.BooleanField(label=_("Use only these: switch off all existing gold pairs"), required=False)

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MAX_GOLD_FILE_BYTES:
            text = gettext("The file is larger than %(limit)d MB. Upload it in several parts.")
            raise forms.ValidationError(text % {"limit": MAX_GOLD_FILE_BYTES // 10**6})
        return file


class RemovalForm(forms.Form):
    """Which comparisons to leave out of results, and why."""

    ONE, PAIR, BASE, TEST = "one", "pair", "base", "test"

    scope = forms.ChoiceField(label=_("What to leave out"), widget=forms.RadioSelect, initial=ONE)
    reason = forms.CharField(
        label=_("Reason"),
        max_length=MAX_NOTE_CHARACTERS,
        help_text=_("Managers and researchers of the project can read it."),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, comparison: Comparison) -> None:
        super().__init__(data)
        names = {"base": comparison.base.name, "test": comparison.test.name}
        choices = [
            (self.ONE, gettext("This comparison")),
            (self.PAIR, gettext("All comparisons of these two models")),
            (self.TEST, gettext("All comparisons with %(test)s") % names),
            (self.BASE, gettext("All comparisons with %(base)s") % names),
        ]
        self.fields["scope"].choices = choices  # type: ignore[attr-defined]
        self.comparison = comparison

    def chosen(self) -> list[Comparison]:
        """Return the comparisons of a valid form."""
        one, scope = self.comparison, self.cleaned_data["scope"]
        conditions = {
            self.ONE: Q(pk=one.pk),
            self.PAIR: Q(base=one.base, test=one.test) | Q(base=one.test, test=one.base),
            self.TEST: Q(base=one.test) | Q(test=one.test),
            self.BASE: Q(base=one.base) | Q(test=one.base),
        }
        found = Comparison.objects.filter(conditions[scope], project=one.project).select_related("project", "pool")
        return list(found.order_by("pk"))


class DecisionForm(forms.Form):
    """A manager's decision about a rater."""

    RESTORE, PAUSE, EXCLUDE = "restore", "pause", "exclude"

    decision = forms.ChoiceField(
        choices=[(RESTORE, _("Restore")), (PAUSE, _("Pause")), (EXCLUDE, _("Exclude"))],
        error_messages={
            "required": _("Choose one of the buttons."),
            "invalid_choice": _("Choose one of the buttons."),
        },
    )
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=MAX_NOTE_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
        help_text=_("Your reason. Required to exclude a rater. Only managers can see it."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("decision") == self.EXCLUDE and "note" in cleaned and not cleaned["note"]:
            self.add_error("note", gettext("Enter a reason for excluding this rater."))
        return cleaned


class InstructionsForm(forms.Form):
    body = forms.CharField(
        label=_("Text"),
        strip=True,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 24, "dir": "auto"}),
        help_text=_("Use Markdown: ## for a heading, - for a list, > for a quotation."),
    )
