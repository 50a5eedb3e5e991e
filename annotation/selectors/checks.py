"""What managers check: images with the English caption, its rating, the caption and others' ratings.

One round at a time. Pages continue where the last one ended and nothing is counted, so the last page is as fast as the
first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import Case, Exists, IntegerField, Max, Min, OuterRef, QuerySet, TextChoices, Value, When
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
    SpotCheck,
    Tally,
    Verdict,
    VerificationTask,
)
from core.allocation.models import AssignmentState
from core.images.models import CollectionImage, Image
from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.people.models import Project, User

IMAGES_AT_ONCE = 20
SHOWN_STATES = (CaptionState.COUNTED, CaptionState.RETURNED)
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

    @property
    def query(self) -> str:
        """Return the filters as a query string."""
        given = {
            "round": self.round.pk,
            "annotator": self.annotator.pk if self.annotator else "",
            "rated": self.rated,
            "verdict": self.verdict,
            "apart": self.apart,
            "unchecked": "on" if self.is_unchecked else "",
        }
        return urlencode([(name, value) for name, value in given.items() if value])


@dataclass(frozen=True)
class ManagerFinding:
    """One manager's findings; empty if nothing was said."""

    by: str
    is_rating_right: bool | None
    level: str
    label: str


@dataclass(frozen=True)
class CheckedCaption:
    """A caption. `is_asked` says whether the filters match it, or only another one of its image."""

    id: int
    author: User
    text: str
    rating: str
    rating_label: str
    is_asked: bool
    is_returned: bool
    may_be_returned: bool
    verdicts: Sequence[Verdict]
    mine: ManagerFinding
    others: Sequence[ManagerFinding]
    feedback: Sequence[Feedback]
    returns: Sequence[CorrectionRequest]


@dataclass(frozen=True)
class CheckedImage:
    key: str
    image: ServedImage
    english: str
    are_ratings_apart: bool
    rows: Sequence[CheckedCaption]


@dataclass(frozen=True)
class CheckPage:
    """A page of images. `after` and `before` are the cursors to the next and previous page; 0 if there is none."""

    images: Sequence[CheckedImage]
    after: int
    before: int


def rounds_to_check(project: Project, language: Language) -> list[Round]:
    """List the rounds that have captions, the newest first."""
    rounds = Round.objects.filter(project=project, language=language, state__in=WORKED_ON)
    written = Exists(Caption.objects.filter(round=OuterRef("pk"), author__isnull=False))
    return list(rounds.exclude(kind=RoundKind.VERIFICATION).filter(written).order_by("-pk"))


def authors_of(rounds: Iterable[Round]) -> list[User]:
    """List the authors of a round from the tallies, without reading captions."""
    people = Tally.objects.filter(round__in=list(rounds)).values("person")
    return list(User.objects.filter(pk__in=people).order_by("username"))


def check_page(asked: CheckFilters, viewer: User, *, after: int = 0, before: int = 0) -> CheckPage:
    """List the images after, or before, a cursor; from the first if there is none."""
    captions = _asked_for(asked).order_by("-image" if before else "image")
    captions = captions.filter(image__lt=before) if before else captions.filter(image__gt=after)
    images = list(captions.values_list("image", flat=True).distinct()[: IMAGES_AT_ONCE + 1])
    has_more = len(images) > IMAGES_AT_ONCE
    images = sorted(images[:IMAGES_AT_ONCE])
    is_last = not (has_more or before)
    is_first = not (has_more if before else after)
    return CheckPage(
        images=_shown(asked, images, viewer),
        after=0 if is_last or not images else images[-1],
        before=0 if is_first or not images else images[0],
    )


def row_of(caption: Caption, viewer: User) -> CheckedCaption:
    """Return one caption again, after a change."""
    (row,) = _rows([_with_all_it_needs(Caption.objects.filter(pk=caption.pk)).get()], caption.round, viewer)
    return row


def _asked_for(asked: CheckFilters) -> QuerySet[Caption]:
    captions = Caption.objects.filter(round=asked.round, state__in=SHOWN_STATES, item__isnull=False)
    if asked.apart == RatingsApart.RATINGS:
        # Anybody may be the other reviewer, so this comes before the other filters.
        spread = captions.filter(item__rating__in=list(SCALE)).order_by().values("image")
        captions = captions.filter(image__in=_far_apart(spread, "item__rating").values("image"))
    if asked.apart == RatingsApart.VERDICTS:
        said = _counted_verdicts().filter(caption__round=asked.round, rating__in=list(SCALE)).order_by()
        captions = captions.filter(pk__in=_far_apart(said.values("caption"), "rating").values("caption"))
    if asked.annotator:
        captions = captions.filter(author=asked.annotator)
    if asked.rated:
        captions = captions.filter(item__rating=asked.rated)
    if asked.verdict:
        captions = captions.filter(
            Exists(_counted_verdicts().filter(caption=OuterRef("pk"), rating=asked.verdict).order_by())
        )
    if asked.is_unchecked:
        captions = captions.filter(~Exists(SpotCheck.objects.filter(caption=OuterRef("pk"))))
    return captions


def _far_apart(grouped: QuerySet[Any, Any], path: str) -> QuerySet[Any, Any]:
    place = Case(
        *(When(**{path: level}, then=Value(place)) for level, place in SCALE.items()), output_field=IntegerField()
    )
    return grouped.annotate(spread=Max(place) - Min(place)).filter(spread__gte=FAR_APART)


def _counted_verdicts() -> QuerySet[Verdict]:
    return Verdict.objects.filter(assignment__state=AssignmentState.DONE)


def _with_all_it_needs(captions: QuerySet[Caption]) -> QuerySet[Caption]:
    return captions.select_related("author", "item__english", "image")


def _shown(asked: CheckFilters, images: Sequence[int], viewer: User) -> list[CheckedImage]:
    everything = Caption.objects.filter(round=asked.round, state__in=SHOWN_STATES, item__isnull=False)
    captions = list(_with_all_it_needs(everything.filter(image__in=images)).order_by("image", "author__username"))
    wanted = set(_asked_for(asked).filter(image__in=images).values_list("pk", flat=True))
    rows: dict[int, list[CheckedCaption]] = defaultdict(list)
    firsts: dict[int, tuple[Image, str]] = {}
    for caption, row in zip(captions, _rows(captions, asked.round, viewer), strict=True):
        rows[caption.image_id].append(replace(row, is_asked=row.id in wanted))
        if caption.item is not None:
            firsts.setdefault(caption.image_id, (caption.image, caption.item.english.text))
    entries = CollectionImage.objects.filter(collection=asked.round.collection_id, image__in=images)
    keys = dict(entries.values_list("image", "key"))
    return [
        CheckedImage(
            key=keys.get(pk, image.sha256[:12]),
            image=served_image(image, viewer),
            english=english,
            are_ratings_apart=_are_apart([row.rating for row in rows[pk]]),
            rows=rows[pk],
        )
        for pk, (image, english) in firsts.items()
    ]


def _are_apart(ratings: Iterable[str]) -> bool:
    places = [SCALE[Rating(rating)] for rating in ratings if rating in SCALE]
    return bool(places) and max(places) - min(places) >= FAR_APART


def _rows(captions: Sequence[Caption], round: Round, viewer: User) -> list[CheckedCaption]:
    about = {"caption__in": [caption.pk for caption in captions]}
    verdicts: dict[int, list[Verdict]] = defaultdict(list)
    for verdict in _counted_verdicts().filter(**about).select_related("person").order_by("person__username"):
        verdicts[verdict.caption_id].append(verdict)
    nothing = ManagerFinding(viewer.username, None, "", "")
    mine: dict[int, ManagerFinding] = {}
    others: dict[int, list[ManagerFinding]] = defaultdict(list)
    for check in SpotCheck.objects.filter(**about).select_related("by").order_by("by__username"):
        label = str(Rating(check.level).label) if check.level else ""
        finding = ManagerFinding(check.by.username, check.is_rating_right, check.level, label)
        if check.by_id == viewer.pk:
            mine[check.caption_id] = finding
        else:
            others[check.caption_id].append(finding)
    feedback: dict[int | None, list[Feedback]] = defaultdict(list)
    for one in Feedback.objects.filter(**about).select_related("by"):
        feedback[one.caption_id].append(one)
    returns: dict[int, list[CorrectionRequest]] = defaultdict(list)
    for sent in CorrectionRequest.objects.filter(**about).select_related("by"):
        returns[sent.caption_id].append(sent)
    rated_by_others = set(VerificationTask.objects.filter(**about).values_list("caption", flat=True))
    is_undecided = round.state in (RoundState.OPEN, RoundState.CLOSED)
    return [
        CheckedCaption(
            id=caption.pk,
            author=caption.author,
            text=caption.text,
            rating=caption.item.rating,
            rating_label=caption.item.get_rating_display(),
            is_asked=True,
            is_returned=caption.state == CaptionState.RETURNED,
            may_be_returned=is_undecided
            and caption.state == CaptionState.COUNTED
            and caption.pk not in rated_by_others,
            verdicts=verdicts[caption.pk],
            mine=mine.get(caption.pk) or nothing,
            others=others[caption.pk],
            feedback=feedback[caption.pk],
            returns=returns[caption.pk],
        )
        for caption in captions
        if caption.item is not None and caption.author is not None
    ]
