"""What raters of captions see: pictures, captions and levels; nothing of who wrote them nor of what others say."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import Q, QuerySet

from allocation.models import AssignmentState, BatchState
from annotation.models import DECIDED, Caption, Item, Round, RoundState, Stage, Verdict, VerificationBatch
from corpus.models import CollectionImage
from people.models import User


def captions_by_image(round: Round) -> dict[str, list[int]]:
    """The captions of a round that count, by the key of their image, in an order that no database has a say in.

    An image that was taken out of the collection since has its hash for a key.
    """
    keys = dict(CollectionImage.objects.filter(collection=round.collection_id).values_list("image", "key"))
    found = Caption.objects.counted().filter(round=round).order_by()
    columns = ("submitted_at", "position", "text", "author__username", "pk", "image", "image__sha256")
    captions = defaultdict(list)
    rows = sorted(found.values_list(*columns), key=lambda row: (*row[:3], row[3] or "", row[4]))
    for *_, pk, image, digest in rows:
        captions[keys.get(image, digest)].append(pk)
    return captions


def to_rate(batch: VerificationBatch) -> QuerySet[Verdict]:
    """What is worked on: of a batch taken up again, the captions whose place was still free."""
    return Verdict.objects.filter(batch=batch).exclude(assignment__state=AssignmentState.GONE).order_by("position")


def images_being_rated(person: User) -> QuerySet[Verdict, int]:
    """Images of which `person` has somebody's caption to rate, or may take it up again."""
    unfinished = Verdict.objects.filter(person=person, batch__submitted_at=None)
    return unfinished.exclude(batch__round__state__in=DECIDED).values_list("caption__image", flat=True)


def images_to_write_about(person: User) -> QuerySet[Item, int]:
    """Images that `person` writes about, or may take up again: others' captions of them are not for them."""
    unfinished = Item.objects.filter(person=person).exclude(batch__stage=Stage.SUBMITTED)
    let_go = Q(batch__batch__state__in=(BatchState.RETURNED, BatchState.LAPSED))
    is_over = let_go & Q(batch__round__state__in=(RoundState.CLOSED, *DECIDED))
    return unfinished.exclude(is_over).values_list("image", flat=True)
