"""What managers look through: images with the English caption, how it was rated, what was written, what others say.

One round at a time, found by where the last page ended and never counted, so that the last page of a round comes as
fast as its first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Case, Exists, IntegerField, Max, Min, OuterRef, QuerySet, TextChoices, Value, When
from django.utils.translation import gettext_lazy as _

from allocation.models import AssignmentState
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
from images.models import CollectionImage, Image
from images.selectors import ServedImage, served_image
from languages.models import Language
from people.models import Project, User

IMAGES_AT_ONCE = 20
SHOWN_STATES = (CaptionState.COUNTED, CaptionState.RETURNED)
SCALE = {Rating.BAD: 1, Rating.MEDIUM: 2, Rating.GOOD: 3, Rating.EXCELLENT: 4}
FAR_APART = 2
"""(ours) Levels between two people who rated the same, from which on they are said to disagree."""


class Apart(TextChoices):
    ANY = "", _("all")
    RATINGS = "ratings", _("ratings of the English caption")
    VERDICTS = "verdicts", _("ratings of the caption by others")


@dataclass(frozen=True)
class Asked:
    round: Round
    annotator: User | None = None
    rated: str = ""
    verdict: str = ""
    apart: str = ""
    is_unchecked: bool = False

    @property
    def query(self) -> str:
        """The same, as an address says it."""
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
class Level:
    value: str
    label: str
    key: int


@dataclass(frozen=True)
class Found:
    """What one manager found; empty where nothing was said."""

    by: str
    is_rating_right: bool | None
    level: str
    label: str


@dataclass(frozen=True)
class Said:
    """A rating by somebody who verified the caption."""

    rater: str
    value: str
    label: str


@dataclass(frozen=True)
class Return:
    """That the caption was returned, and what it was before."""

    by: str
    at: datetime
    note: str
    text_before: str
    is_answered: bool


@dataclass(frozen=True)
class Row:
    """A caption. `is_asked` is whether the filters found it, or only another one of its image."""

    id: int
    author: User
    text: str
    rating: str
    rating_label: str
    is_asked: bool
    is_returned: bool
    may_be_returned: bool
    verdicts: Sequence[Said]
    mine: Found
    others: Sequence[Found]
    feedback: Sequence[Feedback]
    returns: Sequence[Return]


@dataclass(frozen=True)
class Shown:
    key: str
    image: ServedImage
    english: str
    are_ratings_apart: bool
    rows: Sequence[Row]


@dataclass(frozen=True)
class CheckPage:
    """`after` and `before` lead on and back; 0 where nothing is there."""

    images: Sequence[Shown]
    after: int
    before: int


def levels() -> list[Level]:
    return [Level(level.value, str(level.label), key) for key, level in enumerate(Rating, start=1)]


def rounds_to_check(project: Project, language: Language) -> list[Round]:
    """The rounds in which something was written, the newest first."""
    rounds = Round.objects.filter(project=project, language=language, state__in=WORKED_ON)
    written = Exists(Caption.objects.filter(round=OuterRef("pk"), author__isnull=False))
    return list(rounds.exclude(kind=RoundKind.VERIFICATION).filter(written).order_by("-pk"))


def authors_of(rounds: Iterable[Round]) -> list[User]:
    """Who wrote in them, by the tallies: no caption is read for it."""
    people = Tally.objects.filter(round__in=list(rounds)).values("person")
    return list(User.objects.filter(pk__in=people).order_by("username"))


def check_page(asked: Asked, viewer: User, *, after: int = 0, before: int = 0) -> CheckPage:
    """The images after, or before, one that an earlier page named; from the first on where none is named."""
    found = _asked_for(asked).order_by("-image" if before else "image")
    found = found.filter(image__lt=before) if before else found.filter(image__gt=after)
    images = list(found.values_list("image", flat=True).distinct()[: IMAGES_AT_ONCE + 1])
    has_more = len(images) > IMAGES_AT_ONCE
    images = sorted(images[:IMAGES_AT_ONCE])
    is_last = not (has_more or before)
    is_first = not (has_more if before else after)
    return CheckPage(
        images=_shown(asked, images, viewer),
        after=0 if is_last or not images else images[-1],
        before=0 if is_first or not images else images[0],
    )


def row_of(caption: Caption, viewer: User) -> Row:
    """One caption anew, after something was done about it."""
    (row,) = _rows([_with_all_it_needs(Caption.objects.filter(pk=caption.pk)).get()], caption.round, viewer)
    return row


def _asked_for(asked: Asked) -> QuerySet[Caption]:
    captions = Caption.objects.filter(round=asked.round, state__in=SHOWN_STATES, item__isnull=False)
    if asked.apart == Apart.RATINGS:
        # Whom somebody disagrees with may be anybody, so this is asked before the others narrow it down.
        spread = captions.filter(item__rating__in=list(SCALE)).order_by().values("image")
        captions = captions.filter(image__in=_far_apart(spread, "item__rating").values("image"))
    if asked.apart == Apart.VERDICTS:
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


def _shown(asked: Asked, images: Sequence[int], viewer: User) -> list[Shown]:
    everything = Caption.objects.filter(round=asked.round, state__in=SHOWN_STATES, item__isnull=False)
    captions = list(_with_all_it_needs(everything.filter(image__in=images)).order_by("image", "author__username"))
    wanted = set(_asked_for(asked).filter(image__in=images).values_list("pk", flat=True))
    rows: dict[int, list[Row]] = defaultdict(list)
    firsts: dict[int, tuple[Image, str]] = {}
    for caption, row in zip(captions, _rows(captions, asked.round, viewer), strict=True):
        rows[caption.image_id].append(replace(row, is_asked=row.id in wanted))
        if caption.item is not None:
            firsts.setdefault(caption.image_id, (caption.image, caption.item.english.text))
    entries = CollectionImage.objects.filter(collection=asked.round.collection_id, image__in=images)
    keys = dict(entries.values_list("image", "key"))
    return [
        Shown(
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


def _rows(captions: Sequence[Caption], round: Round, viewer: User) -> list[Row]:
    about = {"caption__in": [caption.pk for caption in captions]}
    verdicts: dict[int, list[Said]] = defaultdict(list)
    for verdict in _counted_verdicts().filter(**about).select_related("person").order_by("person__username"):
        said = Said(verdict.person.username, verdict.rating, verdict.get_rating_display())
        verdicts[verdict.caption_id].append(said)
    nothing = Found(viewer.username, None, "", "")
    mine: dict[int, Found] = {}
    others: dict[int, list[Found]] = defaultdict(list)
    for check in SpotCheck.objects.filter(**about).select_related("by").order_by("by__username"):
        label = str(Rating(check.level).label) if check.level else ""
        found = Found(check.by.username, check.is_rating_right, check.level, label)
        if check.by_id == viewer.pk:
            mine[check.caption_id] = found
        else:
            others[check.caption_id].append(found)
    feedback: dict[int | None, list[Feedback]] = defaultdict(list)
    for one in Feedback.objects.filter(**about).select_related("by"):
        feedback[one.caption_id].append(one)
    returns: dict[int, list[Return]] = defaultdict(list)
    for sent in CorrectionRequest.objects.filter(**about).select_related("by"):
        answered = sent.answered_at is not None
        returns[sent.caption_id].append(Return(sent.by.username, sent.at, sent.note, sent.text_before, answered))
    rated_by_others = set(VerificationTask.objects.filter(**about).values_list("caption", flat=True))
    is_undecided = round.state in (RoundState.OPEN, RoundState.CLOSED)
    return [
        Row(
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
