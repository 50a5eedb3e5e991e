"""How far captioning is over some of the images of a project."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Sum

from annotation.models import Caption, CaptionTask, Round, RoundKind
from core.people.models import Project
from research.selection.rules.image_filters import ImageFilter
from research.selection.selectors.subsets import images_of


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

    Raises
    ------
    ImageFilterError
        If `images` cannot be applied to a language.
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
