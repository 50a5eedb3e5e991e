"""Read trainings for researchers: how far they are, their curves, and what they wrote of the sample images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Max, Q, QuerySet

from core.images.models import Image
from core.languages.models import Language
from core.people.models import User
from research.inference.models import (
    CaptioningModel,
    RunState,
    Training,
    TrainingEvent,
    TrainingStep,
    TrainingValidation,
)
from research.inference.permissions import trainings_for
from research.inference.rules.runs import unpack_ids
from research.inference.selectors import assigned_work
from research.inference.selectors.runs import NEWEST_LINES, worker_rows

MAX_POINTS = 120
"""Of a curve: more than a plot has room for says nothing."""
NEWEST_SAMPLES = 6
"""Validations whose captions are shown beside one another, of which the first is the model before it learned."""


SampleCaptions = tuple[Image, Language, Sequence[tuple[int, str]]]
"""What a training wrote of one image in one language: pairs of step and caption."""


@dataclass(frozen=True)
class TrainingDetails:
    latest: TrainingStep | None
    left: timedelta | None
    lacks_worker: bool
    """It waits for one, and none takes from its queue."""
    curve: Sequence[TrainingStep]
    """Evenly chosen where there are too many."""
    validations: Sequence[TrainingValidation]
    samples: Sequence[SampleCaptions]
    hidden: int
    """Sample images that are not shown, because the viewer writes about them right now."""
    log: Sequence[TrainingEvent]


def trainings(viewer: User) -> QuerySet[Training]:
    return trainings_for(viewer).select_related("base", "model", "project")


def training_details(training: Training, viewer: User, *, now: datetime) -> TrainingDetails:
    validations = list(training.validations.all())
    samples, hidden = samples_of(training, viewer, validations)
    latest = training.curve.order_by("-step").first()
    left = training.steps - training.step
    is_known = latest is not None and training.state == RunState.RUNNING
    batch = int(training.options["batch_size"])
    return TrainingDetails(
        latest=latest,
        left=timedelta(seconds=left * batch / latest.images_per_s) if is_known and latest and left else None,
        lacks_worker=training.is_going and not any(row.listens_to(training.queue) for row in worker_rows(now=now)),
        curve=curve_of(training),
        validations=validations,
        samples=samples,
        hidden=hidden,
        log=list(training.events.order_by("-pk")[:NEWEST_LINES])[::-1],
    )


def curve_of(training: Training) -> list[TrainingStep]:
    last = training.curve.aggregate(Max("step"))["step__max"] or 0
    every = max(1, last // MAX_POINTS)
    return list(training.curve.alias(rest=F("step") % every).filter(Q(rest=0) | Q(step__in=[1, last])))


def samples_of(
    training: Training, viewer: User, validations: Sequence[TrainingValidation]
) -> tuple[list[SampleCaptions], int]:
    """Read the captions of the first validation and the newest; of images assigned to `viewer` nothing is shown."""
    shown = [*validations[:1], *validations[1:][-NEWEST_SAMPLES:]]
    written: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for validation in shown:
        for sample in validation.samples:
            written.setdefault((sample["image"], sample["language"]), []).append((validation.step, sample["caption"]))
    names = {name for name, _language in written}
    images: Mapping[str, Any] = Image.objects.exclude(assigned_work.is_assigned(viewer, "pk")).in_bulk(
        names, field_name="sha256"
    )
    languages = Language.objects.in_bulk({language for _name, language in written})
    samples: list[SampleCaptions] = [
        (images[name], languages[language], captions)
        for (name, language), captions in written.items()
        if name in images and language in languages
    ]
    return samples, len(names - set(images))


def images_learned(model: CaptioningModel) -> set[int]:
    """Find the images that the model was trained on here: in its own training, or in those of what it is made from."""
    learned: set[int] = set()
    to_see, seen = [model.pk], set[int]()
    related = ("english_model_id", "variant_of_id", "training__base_id")
    while to_see:
        pk = to_see.pop()
        seen.add(pk)
        learned.update(unpack_ids(Training.objects.filter(model=pk).values_list("image_ids", flat=True).first() or b""))
        (found,) = CaptioningModel.objects.filter(pk=pk).values_list(*related)
        to_see += [one for one in found if one is not None and one not in seen]
    return learned
