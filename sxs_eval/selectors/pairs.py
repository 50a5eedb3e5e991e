"""The pairs of a comparison with their judgements: the data behind a figure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, TextChoices
from django.utils.translation import gettext_lazy as _

from core.images.selectors import ServedImage, served_image
from core.people.models import User
from core.people.rules.pseudonyms import pseudonym
from crosslens_metrics.scales import SCALES
from sxs_eval.models import Comparison, Judgement, Pair, TrialKind
from sxs_eval.selectors.results import stopped_raters

PAIRS_PER_PAGE = 10


class PairsShown(TextChoices):
    ALL = "all", _("All")
    WINS = "wins", _("Wins")
    LOSSES = "losses", _("Losses")
    DISAGREEMENT = "disagreement", _("Largest disagreement")
    COMMENTS = "comments", _("With comments")
    INCOMPLETE = "incomplete", _("Incomplete")


@dataclass(frozen=True)
class RaterJudgement:
    """One rater's judgement. `why_not` says why it does not count; empty if it does."""

    rater: str
    score: int
    level: str
    comment: str
    why_not: str


@dataclass(frozen=True)
class ShownPair:
    """`outcome`: wins, losses, neither, incomplete, or similar if its captions are equal and it was not shown."""

    image: ServedImage
    base_caption: str
    test_caption: str
    outcome: str
    judgements: Sequence[RaterJudgement]


def pairs_page(
    comparison: Comparison, show: PairsShown, viewer: User, *, number: str
) -> tuple[Page[Pair], list[ShownPair]]:
    """Return one page of the pairs that `show` asks for; an invalid number is replaced by the nearest valid one."""
    stopped = stopped_raters(comparison.pk)
    pairs = _chosen(comparison, show, list(stopped)).select_related("image", "base_caption", "test_caption")
    page = Paginator(pairs, PAIRS_PER_PAGE).get_page(number)
    said = _said(comparison, [pair.pk for pair in page], stopped)
    return page, [
        ShownPair(
            image=served_image(pair.image, viewer),
            base_caption=pair.base_caption.text,
            test_caption=pair.test_caption.text,
            outcome=_outcome(pair, comparison.replication),
            judgements=said[pair.pk],
        )
        for pair in page
    ]


def _chosen(comparison: Comparison, show: PairsShown, stopped: list[int]) -> QuerySet[Pair]:
    counts = Q(judgements__kind=TrialKind.PAIR, judgements__choice__isnull=False, judgements__is_late=False)
    counts &= ~Q(judgements__person__in=stopped)
    pairs = Pair.objects.filter(comparison=comparison).annotate(
        total=Count("judgements", filter=counts),
        better=Count("judgements", filter=counts & Q(judgements__score__gt=0)),
        worse=Count("judgements", filter=counts & Q(judgements__score__lt=0)),
    )
    complete, by_key = pairs.filter(total__gte=comparison.replication), "pk"
    match show:
        case PairsShown.WINS:
            return complete.filter(total__lt=F("better") * 2).order_by(by_key)
        case PairsShown.LOSSES:
            return complete.filter(total__lt=F("worse") * 2).order_by(by_key)
        case PairsShown.DISAGREEMENT:
            apart = Max("judgements__score", filter=counts) - Min("judgements__score", filter=counts)
            return pairs.annotate(apart=apart).filter(apart__gt=0).order_by("-apart", by_key)
        case PairsShown.COMMENTS:
            remarks = Judgement.objects.filter(pair=OuterRef("pk"), choice__isnull=False).exclude(comment="")
            return pairs.filter(Exists(remarks)).order_by(by_key)
        case PairsShown.INCOMPLETE:
            return pairs.filter(task__isnull=False, total__lt=comparison.replication).order_by(by_key)
    return pairs.order_by(by_key)


def _outcome(pair: Pair, replication: int) -> str:
    total, better, worse = (getattr(pair, name) for name in ("total", "better", "worse"))
    if pair.task_id is None:
        return "similar"
    if total < replication:
        return "incomplete"
    return "wins" if 2 * better > total else "losses" if 2 * worse > total else "neither"


def _said(comparison: Comparison, pairs: Sequence[int], stopped: dict[int, str]) -> dict[int, list[RaterJudgement]]:
    answers = Judgement.objects.filter(pair__in=pairs, kind=TrialKind.PAIR, choice__isnull=False)
    judgements, scale = defaultdict(list), SCALES[comparison.scale]
    for answer in answers.only("pair", "person", "score", "comment", "is_late"):
        assert answer.pair_id is not None
        assert answer.score is not None
        judgements[answer.pair_id].append(
            RaterJudgement(
                rater=pseudonym(comparison.project, answer.person_id),
                score=answer.score,
                level=scale[answer.score].name,
                comment=answer.comment,
                why_not=stopped.get(answer.person_id, "late" if answer.is_late else ""),
            )
        )
    return defaultdict(list, {pair: sorted(rows, key=lambda row: row.rater) for pair, rows in judgements.items()})
