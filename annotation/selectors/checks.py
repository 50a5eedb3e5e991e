"""What managers check: images with the English caption, its rating, the caption and others' ratings.

One round at a time. Pages continue where the last one ended and nothing is counted, so the last page is as fast as the
first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from random import Random
from typing import Any

from django.db.models import (
    Case,
    Exists,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Prefetch,
    QuerySet,
    TextChoices,
    Value,
    When,
)
from django.utils.translation import gettext_lazy as _

from annotation.models import (
    WORKED_ON,
    Caption,
    CaptionState,
    CorrectionRequest,
    Feedback,
    Rating,
    Round,
    RoundKind,
    RoundState,
    SecondReading,
    SpotCheck,
    Tally,
)
from annotation.rules.writing_marks import MarkKind
from annotation.selectors.beside_captions import CaptionBeside, counted_verdicts, with_what_is_beside
from annotation.selectors.marks import SHOWN_STATES, marks_by_caption
from core.images.models import CollectionImage, Image
from core.images.selectors import served_image
from core.languages.models import Language
from core.people.models import Project, User

IMAGES_AT_ONCE = 20
SAMPLES = 5
SCALE = {Rating.BAD: 1, Rating.MEDIUM: 2, Rating.GOOD: 3, Rating.EXCELLENT: 4}
FAR_APART = 2
"""(ours) How many levels apart two ratings of the same caption count as a disagreement."""


class RatingsApart(TextChoices):
    ANY = "", _("all")
    RATINGS = "ratings", _("ratings of the English caption")
    VERDICTS = "verdicts", _("ratings of the caption by others")


@dataclass(frozen=True)
class CheckFilters:
    round: Round
    annotator: User | None = None
    rated: str = ""
    verdict: str = ""
    apart: str = ""
    is_unchecked: bool = False


@dataclass(frozen=True)
class CheckedCaption(CaptionBeside):
    """A caption. `is_asked` says whether the filters match it, or only another one of its image.

    `mine` are the viewer's findings, empty if nothing was said, and `others` those of other managers. `marks` are what
    a manager may want to look at.
    """

    is_asked: bool
    may_be_returned: bool
    mine: SpotCheck
    others: Sequence[SpotCheck]
    marks: Sequence[MarkKind]


def rounds_to_check(project: Project, language: Language) -> list[Round]:
    """List the rounds that have captions, the newest first."""
    rounds = Round.objects.filter(project=project, language=language, state__in=WORKED_ON)
    written = Exists(Caption.objects.filter(round=OuterRef("pk"), author__isnull=False))
    return list(rounds.exclude(kind=RoundKind.VERIFICATION).filter(written).order_by("-pk"))


def authors_of(rounds: Iterable[Round]) -> QuerySet[User]:
    """List the authors of rounds from the tallies, without reading captions."""
    people = Tally.objects.filter(round__in=list(rounds)).values("person")
    return User.objects.filter(pk__in=people).order_by("username")


def check_page(asked: CheckFilters, viewer: User, *, after: int = 0, before: int = 0) -> dict[str, Any]:
    """List the images after, or before, a cursor; from the first if there is none.

    `after` and `before` are the cursors to the next and previous page; 0 if there is none.
    """
    captions = captions_asked_for(asked).order_by("-image" if before else "image")
    captions = captions.filter(image__lt=before) if before else captions.filter(image__gt=after)
    images = list(captions.values_list("image", flat=True).distinct()[: IMAGES_AT_ONCE + 1])
    has_more = len(images) > IMAGES_AT_ONCE
    images = sorted(images[:IMAGES_AT_ONCE])
    is_last = not (has_more or before)
    is_first = not (has_more if before else after)
    return {
        "images": _shown(asked, images, viewer),
        "after": 0 if is_last or not images else images[-1],
        "before": 0 if is_first or not images else images[0],
    }


def row_of(caption: Caption, viewer: User) -> CheckedCaption:
    """Return one caption again, after a change."""
    (again,) = _with_all_it_needs(Caption.objects.filter(pk=caption.pk))
    return _rows([again], caption.round, viewer, asked={again.pk})[0]


def samples_of(round: Round, *, draw: int = 0) -> list[tuple[CaptionBeside, str]]:
    """Return some captions of a round, or of the round that it rates, drawn by its seed; another `draw` gives others.

    Each comes with the key of its image. They are to be read before deciding about the round.
    """
    captions = Caption.objects.counted().filter(round=round.verifies_id or round.pk)
    known = list(captions.order_by("pk").values_list("pk", flat=True))
    drawn = Random(f"{round.seed}:{draw}").sample(known, min(SAMPLES, len(known)))
    by_pk = _to_read(captions).in_bulk(drawn)
    rows = with_what_is_beside([by_pk[pk] for pk in drawn])
    keys = _keys(round, [row.caption.image for row in rows])
    return [(row, keys[row.caption.image_id]) for row in rows]


def newest_of(project: Project, language: Language, author: User) -> list[CaptionBeside]:
    """List the newest captions of a person in a language of a project, to be read before deciding about them."""
    captions = Caption.objects.filter(round__project=project, round__language=language, author=author)
    newest = _to_read(captions.filter(state__in=SHOWN_STATES)).order_by("-submitted_at", "-pk")
    return with_what_is_beside(list(newest[:SAMPLES]))


def _to_read(captions: QuerySet[Caption]) -> QuerySet[Caption]:
    verdicts = Prefetch("verdicts", counted_verdicts().order_by("pk"))
    return captions.select_related("image", "item", "round", "gloss__translator").prefetch_related(verdicts)


def captions_asked_for(asked: CheckFilters) -> QuerySet[Caption]:
    captions = _of_round(asked.round)
    if asked.apart == RatingsApart.RATINGS:
        # Anybody may be the other reviewer, so this comes before the other filters.
        spread = captions.filter(item__rating__in=list(SCALE)).order_by().values("image")
        captions = captions.filter(image__in=_far_apart(spread, "item__rating").values("image"))
    if asked.apart == RatingsApart.VERDICTS:
        said = counted_verdicts().filter(caption__round=asked.round, rating__in=list(SCALE)).order_by()
        captions = captions.filter(pk__in=_far_apart(said.values("caption"), "rating").values("caption"))
    if asked.annotator:
        captions = captions.filter(author=asked.annotator)
    if asked.rated:
        captions = captions.filter(item__rating=asked.rated)
    if asked.verdict:
        captions = captions.filter(
            Exists(counted_verdicts().filter(caption=OuterRef("pk"), rating=asked.verdict).order_by())
        )
    if asked.is_unchecked:
        captions = captions.filter(~Exists(SpotCheck.objects.filter(caption=OuterRef("pk"))))
    return captions


def _far_apart(grouped: QuerySet[Any, Any], path: str) -> QuerySet[Any, Any]:
    place = Case(
        *(When(**{path: level}, then=Value(place)) for level, place in SCALE.items()), output_field=IntegerField()
    )
    return grouped.annotate(spread=Max(place) - Min(place)).filter(spread__gte=FAR_APART)


def _of_round(round: Round) -> QuerySet[Caption]:
    return Caption.objects.filter(round=round, state__in=SHOWN_STATES, item__isnull=False)


def _with_all_it_needs(captions: QuerySet[Caption]) -> QuerySet[Caption]:
    return captions.select_related("author", "item__english", "image", "round", "gloss__translator").prefetch_related(
        Prefetch("verdicts", counted_verdicts().select_related("person").order_by("person__username")),
        Prefetch("spot_checks", SpotCheck.objects.select_related("by").order_by("by__username")),
        Prefetch("feedback", Feedback.objects.select_related("by")),
        Prefetch("readings", SecondReading.objects.select_related("reader")),
        Prefetch("corrections", CorrectionRequest.objects.select_related("by")),
        "verification_tasks",
    )


def _shown(asked: CheckFilters, images: Sequence[int], viewer: User) -> list[dict[str, Any]]:
    captions = _with_all_it_needs(_of_round(asked.round).filter(image__in=images))
    wanted = set(captions_asked_for(asked).filter(image__in=images).values_list("pk", flat=True))
    rows: dict[Image, list[CheckedCaption]] = defaultdict(list)
    for row in _rows(list(captions.order_by("image", "author__username")), asked.round, viewer, asked=wanted):
        rows[row.caption.image].append(row)
    keys = _keys(asked.round, rows)
    return [
        {
            "key": keys[image.pk],
            "image": served_image(image, viewer),
            "are_ratings_apart": _are_apart(row.caption.item.rating for row in of_image if row.caption.item),
            "rows": of_image,
        }
        for image, of_image in rows.items()
    ]


def _keys(round: Round, images: Iterable[Image]) -> dict[int, str]:
    """Return the keys of images in the collection of a round; those that were removed since have part of their hash."""
    entries = CollectionImage.objects.filter(collection=round.collection_id, image__in=list(images))
    return {image.pk: image.sha256[:12] for image in images} | dict(entries.values_list("image", "key"))


def _are_apart(ratings: Iterable[str]) -> bool:
    places = [SCALE[Rating(rating)] for rating in ratings if rating in SCALE]
    return bool(places) and max(places) - min(places) >= FAR_APART


def _rows(captions: Sequence[Caption], round: Round, viewer: User, *, asked: Set[int]) -> list[CheckedCaption]:
    is_undecided = round.state in (RoundState.OPEN, RoundState.CLOSED)
    marks = marks_by_caption(captions)
    return [
        CheckedCaption(
            **vars(beside),
            is_asked=caption.pk in asked,
            may_be_returned=is_undecided
            and caption.state == CaptionState.COUNTED
            and not caption.verification_tasks.all(),
            mine=next((check for check in caption.spot_checks.all() if check.by_id == viewer.pk), SpotCheck()),
            others=[check for check in caption.spot_checks.all() if check.by_id != viewer.pk],
            marks=marks[caption.pk],
        )
        for beside in with_what_is_beside(captions)
        for caption in [beside.caption]
    ]
