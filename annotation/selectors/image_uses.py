"""Say which rounds use the images of a collection, or one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db.models import Count
from django.urls import reverse

from annotation.models import CaptionTask, Round, RoundKind, RoundState
from core.images.models import Collection, CollectionImage
from core.images.selectors.image_pages import PageSection
from core.people.models import Project, User
from core.people.permissions import READERS
from research.selection.selectors.usage import ImagesUse


def rounds_of(collections: Iterable[Collection]) -> Iterator[ImagesUse]:
    """Yield the captioning rounds of collections, by language."""
    rounds = Round.objects.filter(collection__in=list(collections)).exclude(kind=RoundKind.VERIFICATION)
    rounds = rounds.exclude(state=RoundState.SKIPPED).select_related("language", "project")
    for round in rounds.order_by("language", "pk"):
        yield ImagesUse(
            title=f"{round.language.name}: {round.title}",
            address=reverse("annotation:language-show", args=[round.project.slug, round.language_id]),
            has_begun=round.state != RoundState.PLANNED,
        )


def uses_section(entry: CollectionImage, viewer: User) -> PageSection | None:
    """Show the projects in which the image is described, among those that `viewer` manages or does research in."""
    mine = Project.objects.filter(memberships__user=viewer.pk, memberships__role__in=READERS).values("pk")
    tasks = CaptionTask.objects.filter(image=entry.image_id, round__project__in=mine).order_by()
    rounds = Count("round", distinct=True)
    uses = tasks.values("round__project__slug", "round__project__name").annotate(
        rounds=rounds, languages=Count("round__language", distinct=True)
    )
    shown = [
        {
            "name": use["round__project__name"],
            "address": reverse("annotation:image-show", args=[use["round__project__slug"], entry.image.public_id]),
            "rounds": use["rounds"],
            "languages": use["languages"],
        }
        for use in uses.order_by("round__project__name")
    ]
    return PageSection("annotation/_image_uses.html", {"uses": shown}) if shown else None
