"""What annotation stores about one person, for their data export: nothing about others.

It never has English captions: they are no data about the person, and no file may reveal what screen 2 hides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import CharField, F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from annotation.models import (
    AnnotatorStatus,
    Caption,
    CaptionBatch,
    CaptionItem,
    CorrectionRequest,
    Exclusion,
    SecondReading,
    Verdict,
    VerificationBatch,
)
from annotation.permissions import is_kept_from_author, readable_feedback
from core.allocation.selectors import LEASE_COLUMNS
from core.images.models import CollectionImage
from core.people.models import User
from core.people.personal_data import ExportPart
from research.inference.selectors import assigned_work

LEFT_OUT_WHILE_ASSIGNED = ("image", "rating", "rated_at", "rating_ms")


def _of_round(path: str) -> dict[str, F]:
    """Columns that identify the round, at `path`, of a row."""
    places = {"project_slug": "project__slug", "language_tag": "language", "round_kind": "kind"}
    return {name: F(f"{path}__{place}") for name, place in (places | {"round_number": "number"}).items()}


def data_export(person: User) -> Iterator[ExportPart]:
    hidden = set(
        CaptionItem.objects.filter(assigned_work.is_assigned(person, "image"), person=person).values_list(
            "image", flat=True
        )
    )
    yield ExportPart(
        "batches",
        _("Batches of images that you took to rate and describe."),
        _batches(CaptionBatch.objects.all(), person, "writing_opened_at", "stage", **_WRITING),
    )
    yield ExportPart(
        "images",
        _("Every image in these batches: how you rated its English caption, and what you typed, whether "
            "submitted or not. The English captions are not included, because a program wrote them. For "
            "images that are assigned to you now, in any kind of work, your rating is left out."),
        _items(person, hidden),
    )  # fmt: skip
    yield ExportPart(
        "advice",
        _("What you answered when a manager asked you about a caption."),
        SecondReading.objects.filter(reader=person)
        .exclude(assigned_work.is_assigned(person, "caption__image"))
        .values("asked_at", "answer", "comment", "answered_at"),
    )
    yield ExportPart(
        "captions", _("Captions that you submitted, as you typed them and as they are stored."), _captions(person)
    )
    yield ExportPart(
        "corrections",
        _("Captions that a manager returned to you for correction, with the note and the earlier text. "
            "Images that are assigned to you now are left out."),
        _corrections(person),
    )  # fmt: skip
    yield ExportPart(
        "feedback",
        _("Feedback from managers about your work. Images that are assigned to you now are left out."),
        _feedback(person),
    )
    yield ExportPart(
        "rating-batches",
        _("Batches of other people's captions that you took to rate."),
        _batches(VerificationBatch.objects.all(), person),
    )
    yield ExportPart(
        "verdicts",
        _(
            "How you rated other people’s captions. The captions themselves are not included, because they "
            "are not yours."
        ),
        _verdicts(person),
    )
    yield ExportPart(
        "statuses", _("Whether a manager qualified or paused you in a language, and why."), _statuses(person)
    )
    yield ExportPart(
        "exclusions",
        _("Managers’ decisions to exclude your captions in a language, and why."),
        _exclusions(person),
    )


_WRITING = {
    "writing_language": F("writing_translation__language"),
    "writing_revision": F("writing_translation__revision"),
}


def _batches(batches: QuerySet[Any], person: User, *columns: str, **more: F) -> QuerySet[Any, Any]:
    return (
        batches.filter(lease__person=person)
        .order_by("lease__taken_at", "pk")
        .values(
            "submitted_at",
            "guidelines_language",
            *columns,
            guidelines_version=F("guidelines__version"),
            guidelines_revision=F("rating_translation__revision"),
            **more,
            **LEASE_COLUMNS,
            **_of_round("round"),
        )
    )


def _items(person: User, hidden: set[int]) -> Iterator[dict[str, Any]]:
    items = CaptionItem.objects.filter(person=person).order_by("batch__lease__taken_at", "batch", "position")
    rows = items.values(
        "batch",
        "position",
        "image",
        "rating",
        "rated_at",
        "rating_ms",
        "text",
        "revision",
        "saved_at",
        "is_autosaved",
        "writing_ms",
        "pasted_characters",
        "longest_absence_ms",
        image_key=_key("batch__round__collection"),
        **_of_round("batch__round"),
    )
    for row in rows.iterator():
        left_out = LEFT_OUT_WHILE_ASSIGNED if row["image"] in hidden else ("image",)
        yield {name: value for name, value in row.items() if name not in left_out}


def _captions(person: User) -> QuerySet[Any, Any]:
    captions = Caption.objects.filter(author=person).order_by("submitted_at", "item__position", "pk")
    return captions.values(
        "text",
        "text_as_typed",
        "warnings",
        "state",
        "submitted_at",
        batch=F("item__batch"),
        position_in_batch=F("item__position"),
        image_key=_key("round__collection"),
        guidelines_version=F("guidelines__version"),
        guidelines_language=F("item__batch__guidelines_language"),
        **_of_round("round"),
    )


def _corrections(person: User) -> QuerySet[Any, Any]:
    requests = CorrectionRequest.objects.filter(caption__author=person)
    requests = requests.exclude(is_kept_from_author(person, "caption__image"))
    return requests.order_by("at", "pk").values(
        "note",
        "at",
        "text_before",
        "text_before_as_typed",
        "warnings_before",
        "answered_at",
        image_key=_key("caption__round__collection", "caption__image"),
        **_of_round("caption__round"),
    )


def _feedback(person: User) -> QuerySet[Any, Any]:
    return (
        readable_feedback(person)
        .order_by("at", "pk")
        .values(
            "text",
            "at",
            "acknowledged_at",
            image_key=_key("caption__round__collection", "caption__image"),
            **_of_round("round"),
        )
    )


def _verdicts(person: User) -> QuerySet[Any, Any]:
    verdicts = Verdict.objects.filter(person=person).order_by("batch__lease__taken_at", "batch", "position")
    return verdicts.values(
        "batch",
        "position",
        "rating",
        "rated_at",
        "rating_ms",
        state=F("assignment__state"),
        image_key=_key("batch__round__collection", "caption__image"),
        **_of_round("batch__round"),
    )


def _statuses(person: User) -> QuerySet[Any, Any]:
    statuses = AnnotatorStatus.objects.filter(person=person).order_by("at", "pk")
    return statuses.values("language", "state", "reason", "at", project_slug=F("project__slug"))


def _exclusions(person: User) -> QuerySet[Any, Any]:
    exclusions = Exclusion.objects.filter(person=person).order_by("at", "pk")
    return exclusions.values("language", "reason", "at", "captions", "undone_at", project_slug=F("project__slug"))


def _key(collection: str, image: str = "image") -> Subquery:
    """The key of an image in the collection of its round; none if it was removed since."""
    entries = CollectionImage.objects.filter(collection=OuterRef(collection), image=OuterRef(image))
    return Subquery(entries.values("key")[:1], output_field=CharField())
