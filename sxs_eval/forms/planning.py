"""Forms to plan comparisons: scores, thresholds, and settings that all comparisons share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.template.defaultfilters import floatformat
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from core.allocation.forms import MAX_REPLICATION
from core.images.forms import UsableCollectionField
from core.images.permissions import collections_in
from core.people.models import Project
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from crosslens_metrics.reports.evaluation_points import ANY_METRIC
from crosslens_metrics.scales import SEVEN_POINTS
from crosslens_metrics.scoring import FIGURES
from research.selection.rules.image_filters import MAX_FILTER_CHARACTERS, ImageFilterError, parse
from research.selection.selectors.subsets import check
from sxs_eval.formats.plans import MAX_BYTES, ScoreFile, parse_scores
from sxs_eval.forms.comparisons import MAX_ATTENTION_PERCENT, MAX_SEED
from sxs_eval.models import SCALE_CHOICES
from sxs_eval.rules import planning
from sxs_eval.rules.judging import GOLD_PERCENT, REPEAT_PERCENT
from sxs_eval.rules.pace import JudgingPace
from sxs_eval.rules.planning import EvaluationPlan, ProposedSession, SmallThresholds, plan_sessions
from sxs_eval.selectors.planning import ComparisonSetting, PlanRow, plan_rows, spread_of
from sxs_eval.services.planning import ChosenPair

if TYPE_CHECKING:
    from sxs_eval.formats.designs import PlannedDesign

MAX_PAIRS = 900
"""(ours) On one page: each has a checkbox, and a form with more than 1,000 fields is refused."""


class PlanForm(forms.Form):
    """The scores stay in the text field, so that nothing of a plan is stored between two views of it."""

    file = forms.FileField(
        label=_("File with the scores"),
        required=False,
        allow_empty_file=True,
        help_text=_("CSV or JSON Lines, at most 300 kB. The file replaces the scores in the field below."),
    )
    scores = forms.CharField(
        label=_("Scores"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "dir": "ltr", "class": "plan__scores"}),
        help_text=_(
            "The first line names the columns: language, model, and one for each of the two sets of "
            "references. After it comes one line for each language and model."
        ),
    )
    sets = forms.CharField(
        label=_("Columns with the scores"),
        required=False,
        max_length=200,
        help_text=_("Two names, separated by a comma. Only needed if there are more than two columns with scores."),
    )
    metric = forms.ChoiceField(
        label=_("Metric of the scores"),
        required=False,
        choices=[("", _("another one, or several")), *((name, figure.title) for name, figure in FIGURES.items())],
        help_text=_(
            "Comparisons that are proposed because of these scores are marked, and left out when this metric is "
            "compared with raters."
        ),
    )
    core = forms.CharField(
        label=_("Core languages"),
        required=False,
        max_length=1000,
        initial=", ".join(planning.CORE),
        help_text=_(
            "Language tags, separated by commas. In these languages all pairs of models are compared, whatever "
            "their scores."
        ),
    )
    small = forms.DecimalField(
        label=_("Small difference, in score points"),
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=6,
        initial=f"{float(planning.SMALL_POINTS):g}",
        help_text=_(
            "If the difference is smaller than this, scores do not show which model is better. The default of "
            "1 is for scores on the ×100 scale. Leave empty for no threshold."
        ),
    )
    small_percent = forms.DecimalField(
        label=_("Small difference, in percent"),
        required=False,
        min_value=0,
        max_value=100,
        decimal_places=3,
        help_text=_(
            "The same threshold in percent of the larger score. If you set both, reaching either makes a "
            "difference small."
        ),
    )
    collection = UsableCollectionField(help_text=_("The captions describe the images of this collection."))
    only = forms.CharField(
        label=_("Image filter"),
        max_length=MAX_FILTER_CHARACTERS,
        required=False,
        widget=forms.TextInput(attrs={"dir": "ltr"}),
        help_text=_("Leave empty for all images. “subset:xm600” uses those of a named subset."),
    )
    subset = forms.IntegerField(
        label=_("Number of images"),
        min_value=1,
        required=False,
        initial=planning.IMAGES,
        help_text=_(
            "Drawn at random with the seed, the same for all comparisons. Leave empty for the whole collection, which "
            "is also used if it has fewer."
        ),
    )
    seed = forms.IntegerField(label=_("Seed"), min_value=0, max_value=MAX_SEED)
    replication = forms.IntegerField(
        label=_("Raters per pair"), min_value=1, max_value=MAX_REPLICATION, initial=planning.REPLICATION
    )
    raters = forms.IntegerField(
        label=_("Raters in all"),
        min_value=1,
        max_value=planning.MAX_RATERS,
        required=False,
        initial=planning.RATERS,
        help_text=_("How many people judge in each comparison. Only the power depends on it."),
    )
    gold_percent = forms.IntegerField(
        label=_("Gold pairs per 100 pairs"), min_value=0, max_value=MAX_ATTENTION_PERCENT, initial=GOLD_PERCENT
    )
    repeat_percent = forms.IntegerField(
        label=_("Repeats per 100 pairs"), min_value=0, max_value=MAX_ATTENTION_PERCENT, initial=REPEAT_PERCENT
    )
    pace = forms.DecimalField(
        label=_("Seconds per judgement"), required=False, min_value=Decimal("0.1"), max_value=3600, decimal_places=1
    )
    scale = forms.TypedChoiceField(
        label=_("Scale"), choices=SCALE_CHOICES, coerce=int, initial=SEVEN_POINTS.points, widget=forms.RadioSelect
    )

    score_file: ScoreFile
    plan: EvaluationPlan

    def __init__(
        self,
        data: QueryDict | None = None,
        files: MultiValueDict[str, UploadedFile[bytes]] | None = None,
        *,
        project: Project,
        measured: JudgingPace,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        self._upload_problem, self.project = "", project
        super().__init__(self._with_upload(data, files), initial=dict(initial or {}))
        self.measured = measured
        self.fields["collection"].queryset = collections_in(project)  # type: ignore[attr-defined]
        self.fields["pace"].help_text = self._pace_help()

    def _pace_help(self) -> str:
        values = {"seconds": floatformat(self.measured.seconds), "number": self.measured.judgements}
        if not self.measured.judgements:
            text = gettext(
                "Leave empty to assume %(seconds)s, because this project has too few judgements to measure it."
            )
            return text % values
        text = ngettext(
            "Leave empty to use %(seconds)s, the mean of %(number)d judgement in this project.",
            "Leave empty to use %(seconds)s, the mean of %(number)d judgements in this project.",
            self.measured.judgements,
        )
        return text % values

    def judging_pace(self) -> JudgingPace:
        given = self.cleaned_data["pace"]
        return JudgingPace(float(given)) if given else self.measured

    def raters_in_all(self) -> int:
        replication: int = self.cleaned_data["replication"]
        return self.cleaned_data["raters"] or max(planning.RATERS, replication)

    def _with_upload(
        self, data: QueryDict | None, files: MultiValueDict[str, UploadedFile[bytes]] | None
    ) -> QueryDict | None:
        """Return `data` with the text of an uploaded file in place of that in the field."""
        upload = files.get("file") if files else None
        if data is None or upload is None:
            return data
        changed = data.copy()
        content = upload.read(MAX_BYTES + 1)
        try:
            if len(content) > MAX_BYTES:
                parse_scores(content)
            changed["scores"] = content.decode("utf-8-sig")
        except FileProblemsError as refused:
            self._upload_problem = str(refused)
        except UnicodeDecodeError:
            self._upload_problem = gettext(
                "The file is not saved as UTF-8. Save it as UTF-8, or paste the scores below."
            )
        return changed

    def clean_subset(self) -> int | None:
        """Return None, for all images, where the collection has no more than were asked for."""
        collection, subset = self.cleaned_data.get("collection"), self.cleaned_data["subset"]
        is_all = collection is not None and subset is not None and subset >= collection.entries.in_results().count()
        return None if is_all else subset

    def clean_core(self) -> list[str]:
        try:
            return list(
                dict.fromkeys(canonical_tag(tag) for tag in self.cleaned_data["core"].split(",") if tag.strip())
            )
        except MalformedTagError as error:
            raise forms.ValidationError(str(error)) from error

    def clean_only(self) -> str:
        try:
            return str(check(parse(self.cleaned_data["only"]), project=self.project))
        except ImageFilterError as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if self._upload_problem:
            self.add_error("file", self._upload_problem)
            return cleaned
        if "scores" not in cleaned:
            return cleaned
        if not cleaned["scores"].strip():
            self.add_error("scores", gettext("Paste the scores here, or choose a file."))
            return cleaned
        sets = [name for name in cleaned.get("sets", "").split(",") if name.strip()]
        try:
            self.score_file = parse_scores(cleaned["scores"].encode(errors="surrogatepass"), sets=sets)
        except FileProblemsError as refused:
            self.add_error("scores", refused.lines())
            return cleaned
        if cleaned.get("raters") and cleaned["raters"] < cleaned.get("replication", 0):
            self.add_error("raters", gettext("There must be at least as many raters as judge each pair."))
        self._check_size()
        if not self.errors:
            self.plan = plan_sessions(self.score_file.scores, core=cleaned["core"], thresholds=self.thresholds())
        return cleaned

    def _check_size(self) -> None:
        number = planning.count_pairs(self.score_file.scores)
        if number > MAX_PAIRS:
            text = gettext(
                "These scores make %(number)d pairs of models, and this page takes %(most)d. Leave out models or "
                "languages, or plan with the command plan_evaluations."
            )
            self.add_error("scores", text % {"number": number, "most": MAX_PAIRS})

    def thresholds(self) -> SmallThresholds:
        points, percent = self.cleaned_data["small"], self.cleaned_data["small_percent"]
        return SmallThresholds(
            points=None if points is None else Fraction(points), percent=None if percent is None else Fraction(percent)
        )

    def setting(self) -> ComparisonSetting:
        given = self.cleaned_data
        names = ("subset", "seed", "replication", "gold_percent", "repeat_percent")
        return ComparisonSetting(scale=given["scale"], images=given["only"], **{name: given[name] for name in names})

    def rows(self) -> list[PlanRow]:
        return plan_rows(
            self.plan.pairs,
            project=self.project,
            collection=self.cleaned_data["collection"],
            setting=self.setting(),
            pace_s=self.judging_pace().seconds,
        )

    def design_of(self, rows: Sequence[PlanRow]) -> PlannedDesign | None:
        """Return the design of the largest of the comparisons; None where none has two images."""
        from crosslens_metrics.power import JudgingDesign
        from sxs_eval.formats.designs import PlannedDesign

        images = max((row.cost.images for row in rows if row.key), default=0)
        if images < 2:
            return None
        design = JudgingDesign(images, self.raters_in_all(), self.cleaned_data["replication"])
        return PlannedDesign(design, spread_of(self.project))

    def chosen_pairs(self, rows: Iterable[PlanRow]) -> list[ChosenPair]:
        """Return `rows` that can be compared; each says which metric proposes it, if its scores do."""
        return [
            ChosenPair(row.language, row.base, row.test, self._chosen_by(row.session))
            for row in rows
            if row.language and row.base and row.test
        ]

    def _chosen_by(self, session: ProposedSession) -> str:
        return (self.cleaned_data["metric"] or ANY_METRIC) if session.is_chosen_by_scores else ""

    def fingerprint(self) -> str:
        """Return a digest of what the plan's table depends on, to check that the user saw the plan they accept."""
        given = self.cleaned_data
        seen = [(name, str(given[name])) for name in sorted(given) if name not in ("file", "scores", "collection")]
        scores = (self.score_file, given["collection"].pk)
        return sha256(repr((seen, scores)).encode(errors="surrogatepass")).hexdigest()

    def score_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("file", "scores", "sets", "metric")]

    def rule_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("core", "small", "small_percent")]

    def setting_fields(self) -> list[forms.BoundField]:
        names = (
            "collection",
            "only",
            "subset",
            "seed",
            "replication",
            "raters",
            "gold_percent",
            "repeat_percent",
            "pace",
            "scale",
        )
        return [self[name] for name in names]
