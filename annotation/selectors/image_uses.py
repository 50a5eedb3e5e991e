"""Who uses the images of a collection: which rounds, how far they are, and which people have seen them before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, Sum
from django.urls import reverse

from annotation.models import (
    Caption,
    CaptionItem,
    CaptionTask,
    Round,
    RoundKind,
    RoundState,
    SecondReading,
    Stage,
    Verdict,
)
from annotation.selectors.verification import images_being_rated
from core.conversation.selectors import is_held
from core.images.models import Collection, CollectionImage
from core.images.selectors.image_pages import PageSection
from core.people.models import Project, User
from core.people.permissions import READERS
from research.inference.models import ModelCaption
from research.inference.selectors import assigned_work
from research.selection.rules.image_filters import ImageFilter
from research.selection.selectors.subsets import images_of
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


@dataclass(frozen=True)
class ImageProgress:
    """The captions of a round, of some of its images: wanted of `images`, and how many of them count so far."""

    round: Round
    images: int
    wanted: int
    done: int

    @property
    def is_finished(self) -> bool:
        return 0 < self.wanted == self.done


def progress_over(rounds: Iterable[Round], images: ImageFilter, *, project: Project) -> list[ImageProgress]:
    """Count tasks and captions themselves, of rounds that caption images, in their order.

    Raises ImageFilterError if `images` cannot be applied to a language.
    """
    return [_progress(round, images, project=project) for round in rounds if round.kind != RoundKind.VERIFICATION]


def _progress(round: Round, images: ImageFilter, *, project: Project) -> ImageProgress:
    tasks, counted = CaptionTask.objects.filter(round=round), Caption.objects.counted().filter(round=round)
    only = images_of(images, project=project, language=round.language)
    if only is not None:
        tasks, counted = tasks.filter(image__in=only), counted.filter(image__in=only)
    sums = tasks.aggregate(images=Count("pk"), wanted=Sum("task__places", default=0))
    done = counted.count()
    if not round.source:
        return ImageProgress(round, sums["images"], sums["wanted"], done)
    # Captions from a file have no tasks.
    captioned = counted.values("image").order_by().distinct().count()
    return ImageProgress(round, max(sums["images"], captioned), max(sums["wanted"], done), done)


DECIDED_PILOT = (RoundState.ACCEPTED, RoundState.REJECTED)


def previously_seen(annotator: User, project: int, *, besides_pilots: bool = False) -> Q:
    """Return caption tasks that must not be assigned to the person.

    An image that they wrote about in `project`, or whose caption they rated or read, is not assigned again in another
    round of it. If nothing else is left for them, `besides_pilots` allows images from decided pilots. An image assigned
    to them in another project or kind of work waits, as one would show what screen 2 of the other must not. So does one
    whose caption by somebody else they have to rate. The images of practice examples never come.
    """
    here = Q(batch__round__project=project)
    image = "caption_task__image"
    written = CaptionItem.objects.filter(person=annotator, image=OuterRef(image))
    written = written.filter(here | ~Q(batch__stage=Stage.SUBMITTED))
    rated = Verdict.objects.filter(here, person=annotator, caption__image=OuterRef(image))
    asked = SecondReading.objects.filter(reader=annotator, caption__image=OuterRef(image))
    asked = asked.filter(Q(caption__round__project=project) | Q(answered_at=None))
    if besides_pilots:
        written = written.exclude(here, batch__round__kind=RoundKind.PILOT, batch__round__state__in=DECIDED_PILOT)
        rated = rated.exclude(
            here,
            batch__round__verifies__kind=RoundKind.PILOT,
            batch__round__verifies__state__in=DECIDED_PILOT,
        )
    return (
        Q(Exists(written))
        | Q(Exists(rated))
        | Q(Exists(asked))
        | Q(**{f"{image}__in": images_being_rated(annotator)})
        | assigned_work.is_kept_from(annotator, image, besides="annotation")
    )


def comes_to_nobody(project: int) -> Q:
    """Return caption tasks that wait: the English caption is switched off, or the image was reported."""
    is_off = Q(caption_task__english__in=ModelCaption.objects.switched_off().values("pk"))
    return is_off | is_held(project, "caption_task__image", "caption_task__round__language")
