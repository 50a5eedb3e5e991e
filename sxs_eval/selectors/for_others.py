"""What side-by-side evaluation tells other parts: about a person, models, raters, subsets and instructions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.urls import reverse
from django.utils.translation import gettext as _

from core.allocation.selectors import LEASE_COLUMNS
from core.people.models import Project, User
from core.people.personal_data import ExportPart
from core.people.selectors.texts import OriginalText
from crosslens_metrics.scales import SCALES
from research.scoring.selectors.human_judgements import HumanJudgements
from research.selection.rules.image_filters import FilterKind, parse
from research.selection.selectors.usage import ImagesUse
from sxs_eval.models import Comparison, Instructions, Judgement, JudgingBatch, RaterStatus, TrialKind
from sxs_eval.rules.judging import has_failed


def data_export(person: User) -> Iterator[ExportPart]:
    yield ExportPart("judging-batches", _("Batches of pairs that you took."), _batches(person))
    yield ExportPart(
        "judgements",
        _("Which of two captions you found better, with your comments. Captions and models are not included."),
        _judgements(person),
    )
    yield ExportPart("judging-statuses", _("Whether your judgements count in each comparison."), _statuses(person))


def _batches(person: User) -> QuerySet[Any, Any]:
    batches = JudgingBatch.objects.filter(lease__person=person).order_by("lease__taken_at", "pk")
    return batches.values(
        "comparison",
        "instructions_language",
        project_slug=F("comparison__project__slug"),
        language_tag=F("comparison__language"),
        instructions_version=F("instructions__version"),
        instructions_revision=F("instructions_translation__revision"),
        **LEASE_COLUMNS,
    )


def _judgements(person: User) -> Iterator[dict[str, Any]]:
    judgements = Judgement.objects.filter(person=person, choice__isnull=False).order_by("judged_at", "pk")
    columns = ("batch", "position", "comparison", "scale", "choice", "comment", "judged_at", "active_ms", "is_late")
    for row in judgements.values(*columns).iterator():
        yield row | {"said": _(SCALES[row.pop("scale")][row["choice"]].label)}


def _statuses(person: User) -> QuerySet[Any, Any]:
    statuses = RaterStatus.objects.filter(person=person).order_by("comparison")
    return statuses.values("comparison", "state", "paused_at", "decided_at")


def human_judgements_of(project: Project, model_id: int, language: str) -> Sequence[HumanJudgements]:
    """Return the mean of the judgements that count, over all comparisons of the two models, as seen from `model_id`."""
    # They need NumPy and SciPy, 35 MB that every command would load at its start.
    import numpy as np

    from sxs_eval.selectors.evidence import evidence_of

    comparisons = Comparison.objects.in_results().filter(
        Q(base=model_id) | Q(test=model_id), project=project, language=language
    )
    comparisons = comparisons.select_related("project", "pool", "base", "test", "collection").order_by("pk")
    evidence = evidence_of(comparisons)
    scores_of: dict[tuple[int, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for comparison in comparisons:
        is_test = comparison.test_id == model_id
        other = comparison.base if is_test else comparison.test
        judged = evidence[comparison.pk].judged
        scores = np.asarray(judged.score) * (1 if is_test else -1)
        for image, score in zip(np.asarray(judged.image).tolist(), scores.tolist(), strict=True):
            scores_of[other.pk, other.name][image].append(score)
    return [
        HumanJudgements(other_id, name, {image: sum(scores) / len(scores) for image, scores in by_image.items()})
        for (other_id, name), by_image in scores_of.items()
        if by_image
    ]


def newest_instructions(project: Project) -> OriginalText | None:
    newest = Instructions.objects.filter(project=project).order_by("version").last()
    return OriginalText(newest.version, newest.body) if newest else None


def comparisons_by_subset(project: Project) -> Iterator[tuple[str, ImagesUse]]:
    """Yield each comparison of the project under the slugs of the subsets that its image filter names."""
    judged = Judgement.objects.filter(comparison=OuterRef("pk"))
    rows = Comparison.objects.filter(project=project, images__contains=f"{FilterKind.SUBSET}:").select_related(
        "language"
    )
    for row in rows.annotate(is_judged=Exists(judged)).order_by("pk"):
        # Without its models, which not everybody may know.
        title = _("comparison %(number)d in %(language)s") % {"number": row.pk, "language": row.language.name}
        use = ImagesUse(title, reverse("sxs_eval:comparison-show", args=[project.slug, row.pk]), row.is_judged)  # type: ignore[attr-defined]
        for term in parse(row.images).terms:
            if term.kind is FilterKind.SUBSET:
                yield term.value, use


@dataclass
class JudgingDone:
    """`judgements` counts answers to pairs that were not late; the time is of these and of attention items."""

    judgements: int = 0
    active_ms: int = 0
    checks: int = 0
    passed: int = 0


def judging_done(project: Project) -> Mapping[tuple[int, str], JudgingDone]:
    """Return the work of everybody who judged a pair here, by person and language tag, in two queries."""
    done: dict[tuple[int, str], JudgingDone] = defaultdict(JudgingDone)
    judged = Judgement.objects.filter(comparison__project=project, comparison__source="", choice__isnull=False)
    answers = judged.filter(is_late=False).order_by()
    where = ("person", "comparison__language")
    sums = answers.values_list(*where).annotate(pairs=Count("pk", filter=Q(kind=TrialKind.PAIR)), time=Sum("active_ms"))
    for person, tag, count, active_ms in sums:
        done[person, tag].judgements, done[person, tag].active_ms = count, active_ms
    checks = answers.exclude(kind=TrialKind.PAIR).values_list(*where, "kind", "score", "repeated__score")
    for person, tag, kind, score, first_score, count in checks.annotate(Count("pk")):
        done[person, tag].checks += count
        done[person, tag].passed += 0 if has_failed(kind, score, first_score) else count
    return done
