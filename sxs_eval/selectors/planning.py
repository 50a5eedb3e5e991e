"""What new comparisons could use, and what is proposed from automatic scores."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import Count, Exists, F, FloatField, OuterRef, QuerySet, Sum
from django.db.models.functions import Cast
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.images.models import Collection, CollectionImage
from core.languages.models import Language
from core.people.models import Project
from core.people.rules.pay import cost_of
from core.people.selectors.rates import rate_of
from crosslens_metrics.scales import SEVEN_POINTS
from research.inference.models import CaptioningModel, ModelCaption
from research.inference.permissions import models_in
from research.selection.rules.image_filters import ImageFilter, ImageFilterError, parse
from research.selection.selectors.subsets import images_of
from sxs_eval.models import LEFT_OUT, Comparison, EqualCaptions, Judgement, RaterState, RaterStatus, TrialKind
from sxs_eval.rules.judging import CHECKS_BEFORE_PAUSE, FAILURES_PERCENT
from sxs_eval.rules.pace import JudgingPace, RaterTimes, pace_of
from sxs_eval.rules.planning import (
    REASONS,
    PairVerdict,
    PlanCost,
    ProposedSession,
    cost_of_session,
    difference_text,
)

if TYPE_CHECKING:
    from crosslens_metrics.power import MeasuredSpread

MAX_READ = 20_000
"""(ours) Judgements from which spreads are estimated, the newest ones: more would say the same."""
SET_ASIDE = (RaterState.PAUSED, *LEFT_OUT)


@dataclass(frozen=True)
class ComparisonSetting:
    """Settings that comparisons of any two models in any language can share. Shares are in percent of the pairs.

    `images` is an image filter, such as `region` or `subset:xm600`; empty for all images.
    """

    subset: int | None = None
    seed: int = 0
    images: str = ""
    scale: int = SEVEN_POINTS.points
    equal_captions: EqualCaptions = EqualCaptions.SHOWN
    replication: int = 3
    batch_size: int = 20
    lease_s: int = 4 * 3600
    gold_percent: int = 0
    repeat_percent: int = 0
    checks_before_pause: int = CHECKS_BEFORE_PAUSE
    failures_percent: int = FAILURES_PERCENT


@dataclass(frozen=True)
class LanguageCoverage:
    """How many images of a collection two models both describe in a language. `is_there`: already compared in it."""

    language: Language
    images: int
    is_there: bool


def models_with_captions(project: Project, collection: Collection) -> list[tuple[CaptioningModel, int]]:
    """Return the models of `project` that describe images of `collection`, with their number of languages."""
    in_collection = collection.entries.in_results().filter(image=OuterRef("image"))
    captions = ModelCaption.objects.in_use().filter(Exists(in_collection), model__in=models_in(project).values("pk"))
    counts = dict(captions.values_list("model").annotate(Count("language", distinct=True)).order_by())
    return [(model, counts[model.pk]) for model in CaptioningModel.objects.filter(pk__in=counts)]


def size_of(collection: Collection) -> int:
    return collection.entries.in_results().count()


@dataclass(frozen=True)
class FilteredImages:
    """What an image filter leaves of a collection: `images`, of which both models describe `described`."""

    images: int
    described: int


def left_by(
    language: Language,
    filter: ImageFilter,
    *,
    project: Project,
    collection: Collection,
    base: CaptioningModel,
    test: CaptioningModel,
) -> FilteredImages:
    """Count the images that a filter leaves for `language`; raises ImageFilterError as `images_of`."""
    only = images_of(filter, project=project, language=language)
    left = collection.entries.in_results()
    if only is not None:
        left = left.filter(image__in=only)
    captions = ModelCaption.objects.in_use().filter(image=OuterRef("image"), language=language)
    described = left.filter(Exists(captions.filter(model=base)), Exists(captions.filter(model=test)))
    return FilteredImages(left.count(), described.count())


def coverage_of(
    project: Project, collection: Collection, base: CaptioningModel, test: CaptioningModel
) -> Sequence[LanguageCoverage]:
    """List all languages, by number of images that both describe."""
    in_collection = collection.entries.in_results().filter(image=OuterRef("image"))
    tested = ModelCaption.objects.in_use().filter(model=test, image=OuterRef("image"), language=OuterRef("language"))
    both = ModelCaption.objects.in_use().filter(Exists(in_collection), Exists(tested), model=base)
    images = dict(both.values_list("language").annotate(Count("pk")).order_by())
    there = set(
        Comparison.objects.in_results()
        .filter(project=project, collection=collection, base=base, test=test)
        .values_list("language", flat=True)
    )
    rows = [
        LanguageCoverage(language, images.get(language.pk, 0), language.pk in there)
        for language in Language.objects.all()
    ]
    return sorted(rows, key=lambda row: -row.images)


def measured_pace(project: Project | None = None) -> JudgingPace:
    """Measure judgements that count and were timed, in `project` or anywhere; the default if they are too few."""
    seconds = Cast("active_ms", FloatField()) / 1000
    by_rater = _counted(project).filter(active_ms__gt=0).order_by().values("person").alias(seconds=seconds)
    sums = by_rater.annotate(number=Count("pk"), total=Sum("seconds"), squares=Sum(F("seconds") * F("seconds")))
    return pace_of([RaterTimes(*row) for row in sums.values_list("number", "total", "squares")])


@dataclass(frozen=True)
class PlannedPay:
    """What a plan's hours cost at the project's `rate` per hour."""

    cost: Decimal
    rate: Decimal
    currency: str


def pay_of(project: Project, cost: PlanCost) -> PlannedPay | None:
    """Return None if the project has no rate."""
    paid = rate_of(project)
    if paid is None:
        return None
    rate, currency = paid
    return PlannedPay(cost_of(active_ms=round(1000 * cost.seconds), rate=rate), rate, currency)


def spread_of(project: Project) -> MeasuredSpread:
    """Estimate from the judgements of `project` that count how far preferences differ; the priors if they are few."""
    # Services that make comparisons import this module, and workers start without NumPy and SciPy.
    import numpy as np

    from crosslens_metrics.power import measured_spread

    judged = _counted(project).order_by("-pk").values_list("comparison", "pair", "person", "score")[:MAX_READ]
    rows = np.array(list(judged), dtype=int).reshape(-1, 4)
    of_each = [rows[rows[:, 0] == comparison] for comparison in np.unique(rows[:, 0])]
    return measured_spread((part[:, 1], part[:, 2], np.sign(part[:, 3])) for part in of_each)


def _counted(project: Project | None) -> QuerySet[Judgement]:
    set_aside = RaterStatus.objects.filter(
        comparison=OuterRef("comparison"), person=OuterRef("person"), state__in=SET_ASIDE
    )
    counted = Judgement.objects.filter(~Exists(set_aside), kind=TrialKind.PAIR, choice__isnull=False, is_late=False)
    return counted if project is None else counted.filter(comparison__project=project)


@dataclass(frozen=True)
class PlanRow:
    """A pair of the plan, with its data here. `problem` says why it cannot be made; `cost` is then nothing.

    `images` counts those that both models describe and the image filter leaves, before a subset is drawn.
    """

    session: ProposedSession
    language: Language | None
    base: CaptioningModel | None
    test: CaptioningModel | None
    images: int
    existing: Comparison | None
    problem: str
    cost: PlanCost

    @property
    def differences(self) -> list[str]:
        return [difference_text(difference) for difference in self.session.differences]

    @property
    def reasons(self) -> list[Promise]:
        return [REASONS[reason] for reason in self.session.reasons]

    @property
    def key(self) -> str:
        """Return the value of a checkbox, without the order of the models, which depends on the scores."""
        if self.problem or self.base is None or self.test is None:
            return ""
        first, second = sorted((self.base.pk, self.test.pk))
        return f"{self.session.language}:{first}:{second}"

    @property
    def is_suggested(self) -> bool:
        return bool(self.key) and self.existing is None and self.session.verdict == PairVerdict.PROPOSED


def plan_rows(
    pairs: Sequence[ProposedSession],
    *,
    project: Project,
    collection: Collection,
    setting: ComparisonSetting,
    pace_s: float,
) -> list[PlanRow]:
    """Match `pairs` with the models and comparisons here, without reading captions."""
    names = {name for pair in pairs for name in (pair.base, pair.test)}
    tags = {pair.language for pair in pairs}
    # The project's own come last, and replace shared ones of the same name.
    named = models_in(project).filter(name__in=names)
    models = {model.name: model for model in sorted(named, key=lambda model: model.project_id == project.pk)}
    languages = Language.objects.in_bulk(tags)
    described = _DescribedImages(collection, models.values(), languages, project=project, filter=parse(setting.images))
    existing = existing_comparisons(project=project, collection=collection, setting=setting, languages=tags)

    def row(pair: ProposedSession) -> PlanRow:
        language, base, test = languages.get(pair.language), models.get(pair.base), models.get(pair.test)
        problem = _problem(pair, language, models, described)
        images, there = 0, None
        if not problem and base and test:
            images = described.by_both(base.pk, test.pk, pair.language)
            there = existing.get((pair.language, frozenset((base.pk, test.pk))))
            problem = "" if images else _("No image in the collection has captions by both models.")
            if not images and setting.images:
                problem = _("No image that the filter leaves has captions by both models.")
        cost = cost_of_session(
            images=min(images, setting.subset or images),
            replication=setting.replication,
            attention_percent=setting.gold_percent + setting.repeat_percent,
            pace_s=pace_s,
        )
        return PlanRow(pair, language, base, test, images, there, problem, PlanCost() if problem else cost)

    return [row(pair) for pair in pairs]


def over_same_images(*, project: Project, collection: Collection, setting: ComparisonSetting) -> QuerySet[Comparison]:
    """Select comparisons that count and are over the images of `setting`. Where none are drawn, any seed gives them."""
    comparisons = Comparison.objects.in_results().filter(
        project=project, collection=collection, subset=setting.subset, images=setting.images
    )
    return comparisons if setting.subset is None else comparisons.filter(seed=setting.seed)


def existing_comparisons(
    *, project: Project, collection: Collection, setting: ComparisonSetting, languages: Container[str]
) -> dict[tuple[str, frozenset[int]], Comparison]:
    """Return comparisons over the same images, by language and the two models in either order."""
    comparisons = over_same_images(project=project, collection=collection, setting=setting)
    comparisons = comparisons.filter(language__in=languages)
    return {(made.language_id, frozenset((made.base_id, made.test_id))): made for made in comparisons.order_by("-pk")}


class _DescribedImages:
    """How many images of a collection the models describe, of those that an image filter leaves.

    `problems` says by language why the filter cannot be applied.
    """

    def __init__(
        self,
        collection: Collection,
        models: Iterable[CaptioningModel],
        languages: Mapping[str, Language],
        *,
        project: Project,
        filter: ImageFilter,
    ) -> None:
        self.is_filtered = not filter.is_all
        self._left: dict[str, QuerySet[CollectionImage]] = {}
        self.problems: dict[str, str] = {}
        whole = collection.entries.in_results()
        for tag, language in languages.items():
            try:
                only = images_of(filter, project=project, language=language)
            except ImageFilterError as error:
                self.problems[tag] = str(error)
            else:
                self._left[tag] = whole if only is None else whole.filter(image__in=only)
        captions = ModelCaption.objects.in_use().filter(model__in=models)
        self._counts: dict[tuple[int, str], int] = {}
        for entries, tags in self._alike(filter):
            counted = captions.filter(language__in=tags, image__in=entries.values("image"))
            for model, tag, number in counted.values_list("model", "language").annotate(Count("pk")).order_by():
                self._counts[model, tag] = number
        self._images = {
            tag: number for entries, tags in self._alike(filter) for number in [entries.count()] for tag in tags
        }

    def _alike(self, filter: ImageFilter) -> list[tuple[QuerySet[CollectionImage], list[str]]]:
        """Return the images left, with the languages in which they are left."""
        if filter.depends_on_language:
            return [(entries, [tag]) for tag, entries in self._left.items()]
        return [(entries, list(self._left)) for entries in list(self._left.values())[:1]]

    def by_one(self, model: int, tag: str) -> int:
        return self._counts.get((model, tag), 0)

    def by_both(self, first: int, second: int, tag: str) -> int:
        counts = [self.by_one(model, tag) for model in (first, second)]
        if 0 in counts or self._images[tag] in counts:
            return min(counts)
        other = ModelCaption.objects.in_use().filter(model=second, language=tag, image=OuterRef("image"))
        left = self._left[tag].values("image")
        return ModelCaption.objects.in_use().filter(Exists(other), model=first, language=tag, image__in=left).count()


def _problem(
    pair: ProposedSession, language: Language | None, models: Mapping[str, CaptioningModel], described: _DescribedImages
) -> str:
    unknown = [name for name in (pair.base, pair.test) if name not in models]
    if unknown:
        text = ngettext(
            "No model is registered under this name: %(models)s.",
            "No models are registered under these names: %(models)s.",
            len(unknown),
        )
        return text % {"models": ", ".join(unknown)}
    if language is None:
        return _("The language %(tag)s is not in the table of languages.") % {"tag": pair.language}
    if pair.language in described.problems:
        return described.problems[pair.language]
    silent = [name for name in (pair.base, pair.test) if not described.by_one(models[name].pk, pair.language)]
    if silent:
        text = _("This collection has no captions in this language by: %(models)s.")
        if described.is_filtered:
            text = _("The images that the filter leaves have no captions in this language by: %(models)s.")
        return text % {"models": ", ".join(silent)}
    return ""
