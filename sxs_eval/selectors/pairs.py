"""The pairs of a comparison: with their judgements, the data behind a figure, and the gold ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, TextChoices
from django.utils.translation import gettext_lazy as _

from core.people.rules.pseudonyms import pseudonym
from sxs_eval.models import Comparison, GoldPair, Judgement, Pair, RaterState, TrialKind
from sxs_eval.selectors.evidence import stopped_raters

PAIRS_PER_PAGE = 10
PairAnswer = tuple[Judgement, str, str]
"""A judgement, the rater's pseudonym, and why it does not count; empty if it does."""
JudgedPair = tuple[Pair, str, list[PairAnswer]]


class PairsShown(TextChoices):
    ALL = "all", _("All")
    WINS = "wins", _("Wins")
    LOSSES = "losses", _("Losses")
    DISAGREEMENT = "disagreement", _("Largest disagreement")
    COMMENTS = "comments", _("With comments")
    INCOMPLETE = "incomplete", _("Incomplete")


def pairs_page(comparison: Comparison, show: PairsShown, *, number: str) -> tuple[Page[Pair], list[JudgedPair]]:
    """Return one page of the pairs that `show` asks for, each with its outcome and its judgements.

    An invalid number is replaced by the nearest valid one. An outcome is wins, losses, neither, incomplete, or similar
    if its captions are equal and it was not shown.
    """
    page = Paginator(pairs_shown(comparison, show), PAIRS_PER_PAGE).get_page(number)
    return page, judged_pairs(comparison, page.object_list)


def judged_pairs(comparison: Comparison, pairs: Iterable[Pair]) -> list[JudgedPair]:
    """Return pairs as `pairs_shown` lists them, each with its outcome and its judgements."""
    listed = list(pairs)
    answers = _answers(comparison, [pair.pk for pair in listed], stopped_raters(comparison.pk))
    return [(pair, _outcome(pair, comparison.replication), answers[pair.pk]) for pair in listed]


def pairs_shown(comparison: Comparison, show: PairsShown) -> QuerySet[Pair]:
    found = _chosen(comparison, show, stopped_raters(comparison.pk))
    return found.select_related("image", "base_caption", "test_caption")


def _chosen(comparison: Comparison, show: PairsShown, stopped: dict[int, str]) -> QuerySet[Pair]:
    counts = Q(judgements__kind=TrialKind.PAIR, judgements__choice__isnull=False, judgements__is_late=False)
    counts &= ~Q(judgements__person__in=list(stopped))
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
            remarks = remarks.exclude(person__in=_withdrawn(stopped))
            return pairs.filter(Exists(remarks)).order_by(by_key)
        case PairsShown.INCOMPLETE:
            return pairs.filter(task__isnull=False, total__lt=comparison.replication).order_by(by_key)
    return pairs.order_by(by_key)


def _withdrawn(stopped: dict[int, str]) -> list[int]:
    """List the people whose answers nobody is shown any more."""
    return [person for person, why in stopped.items() if why == RaterState.WITHDRAWN]


def _outcome(pair: Pair, replication: int) -> str:
    total, better, worse = (getattr(pair, name) for name in ("total", "better", "worse"))
    if pair.task_id is None:
        return "similar"
    if total < replication:
        return "incomplete"
    return "wins" if 2 * better > total else "losses" if 2 * worse > total else "neither"


def _answers(comparison: Comparison, pairs: Sequence[int], stopped: dict[int, str]) -> dict[int, list[PairAnswer]]:
    judgements = Judgement.objects.filter(pair__in=pairs, kind=TrialKind.PAIR, choice__isnull=False)
    judgements = judgements.exclude(person__in=_withdrawn(stopped))
    answers: dict[int, list[PairAnswer]] = defaultdict(list)
    for one in judgements.only("pair", "person", "scale", "score", "comment", "is_late"):
        assert one.pair_id is not None
        why_not = stopped.get(one.person_id, "late" if one.is_late else "")
        answers[one.pair_id].append((one, pseudonym(comparison.project, one.person_id), why_not))
    for of_pair in answers.values():
        of_pair.sort(key=itemgetter(1))
    return answers


def gold_pairs_of(comparison: Comparison) -> QuerySet[GoldPair]:
    """List gold pairs with how many raters answered them and failed.

    Those that most raters failed come first: their better caption may not be better.
    """
    answered = Q(judgements__choice__isnull=False, judgements__is_late=False)
    return (
        GoldPair.objects.filter(comparison=comparison)
        .select_related("image")
        .annotate(
            answered=Count("judgements", filter=answered),
            failed=Count("judgements", filter=answered & Q(judgements__score__lte=0)),
        )
        .order_by("-failed", "pk")
    )
