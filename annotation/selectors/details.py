"""Captions to look at before a release, and what managers decided about them.

In some, something private was found; others may name or describe a person, and are listed apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from typing import Any

from django.db.models import QuerySet

from annotation.models import Caption, CaptionState, DetailDecision, Round, RoundKind, RoundState
from annotation.rules.people_details import PEOPLE_KINDS, people_details
from annotation.rules.private_details import WORTH_A_SCAN, DetailKind, PrivateDetail, private_details
from core.images.models import CollectionImage, Image
from core.people.models import Project

SCANNED = (RoundState.OPEN, RoundState.CLOSED, RoundState.ACCEPTED)
MAX_SHOWN = 100
TEXTS_AT_ONCE = 2000


@dataclass(frozen=True)
class CaptionWithDetails:
    """A caption with what was found in it, and the decision about this text, if there is one.

    It can be left out once its round is accepted; before, it can be returned to its author.
    """

    caption: Caption
    image_key: str
    details: list[PrivateDetail]
    decision: DetailDecision | None

    @property
    def may_be_left_out(self) -> bool:
        is_counted = self.caption.state == CaptionState.COUNTED
        return is_counted and self.caption.author_id is not None and self.caption.round.state == RoundState.ACCEPTED


def text_digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def details_page(project: Project) -> dict[str, Any]:
    """List the captions of main rounds that nobody has decided about, the first `MAX_SHOWN`, and the decisions."""
    undecided = list(_undecided(_counted(project, SCANNED)))
    decisions = DetailDecision.objects.filter(caption__round__project=project).select_related("by")
    decided = {one.caption_id: one for one in decisions.order_by("-at")[:MAX_SHOWN]}
    return {
        "undecided": _rows(undecided[:MAX_SHOWN], {}),
        "count": len(undecided),
        "decided": _rows(list(decided), decided),
    }


@dataclass(frozen=True)
class PeopleFound:
    """How many captions may name or describe a person, by kind, and the first of those that are asked for."""

    by_kind: dict[DetailKind, int]
    rows: list[CaptionWithDetails]


def people_found(project: Project, *, language: str = "", kind: str = "") -> PeopleFound:
    """Look for names and descriptions of people in the captions of main rounds that nobody has decided about.

    All captions are read: 100,000 take about 5 s.
    """
    captions = _counted(project, SCANNED)
    if language:
        captions = captions.filter(round__language=language)
    found: dict[int, list[PrivateDetail]] = {}
    by_kind = Counter[DetailKind]()
    for pk, details in _people_in(captions):
        kinds = {detail.kind for detail in details}
        by_kind.update(kinds)
        if len(found) < MAX_SHOWN and (kind in kinds if kind else kinds):
            found[pk] = details
    counts = {one: by_kind[one] for one in PEOPLE_KINDS}
    return PeopleFound(counts, [replace(row, details=found[row.caption.pk]) for row in _rows(list(found), {})])


def _people_in(captions: QuerySet[Caption]) -> Iterator[tuple[int, list[PrivateDetail]]]:
    """Go through undecided captions, language by language."""
    columns = ("pk", "text", "detail_decision__text_sha256")
    for tag in captions.order_by().values_list("round__language", flat=True).distinct():
        of_language = captions.filter(round__language=tag).order_by("round", "image", "pk").values_list(*columns)
        stream = of_language.iterator(chunk_size=TEXTS_AT_ONCE)
        while some := list(islice(stream, TEXTS_AT_ONCE)):
            for (pk, text, decided), details in zip(some, people_details([one[1] for one in some], tag), strict=True):
                if details and (not decided or decided != text_digest(text)):
                    yield pk, details


def undecided_for_release(project: Project) -> int:
    """Count the captions that a release made now would have, with details that nobody has decided about."""
    return sum(1 for _pk in _undecided(_counted(project, (RoundState.ACCEPTED,))))


def _counted(project: Project, states: tuple[RoundState, ...]) -> QuerySet[Caption]:
    rounds = Round.objects.filter(project=project, kind=RoundKind.MAIN, state__in=states)
    return Caption.objects.in_results().filter(round__in=rounds)


def _undecided(captions: QuerySet[Caption]) -> Iterator[int]:
    """Go through captions in order. The database passes on few: those with a digit, an @ or an address's parts."""
    rows = captions.filter(text__iregex=WORTH_A_SCAN).order_by("round", "image", "pk")
    for pk, text, decided in rows.values_list("pk", "text", "detail_decision__text_sha256").iterator():
        if private_details(text) and decided != text_digest(text):
            yield pk


def _rows(pks: list[int], decisions: dict[int, DetailDecision]) -> list[CaptionWithDetails]:
    found = Caption.objects.select_related("round__language", "image", "author", "gloss__translator").in_bulk(pks)
    captions = [found[pk] for pk in pks if pk in found]
    keys = _keys(captions)
    return [
        CaptionWithDetails(one, keys[one.image_id], private_details(one.text), decisions.get(one.pk))
        for one in captions
    ]


def _keys(captions: list[Caption]) -> dict[int, str]:
    collections = {caption.round.collection_id for caption in captions}
    images = {caption.image_id for caption in captions}
    entries = CollectionImage.objects.filter(collection__in=collections, image__in=images)
    digests = Image.objects.filter(pk__in=images).values_list("pk", "sha256")
    return {pk: digest[:12] for pk, digest in digests} | dict(entries.values_list("image", "key"))
