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
    UNFINISHED_STATES,
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
from research.inference.selectors.workers import WORKER_COMMAND, worker_rows

NEWEST_LINES = 100
MAX_POINTS = 120
"""Of a curve: more than a plot has room for says nothing."""
NEWEST_SAMPLES = 6
"""Validations whose captions are shown beside one another, of which the first is the model before it learned."""


@dataclass(frozen=True)
class TrainingRow:
    training: Training
    is_loading: bool
    """It is still queued, but a worker has claimed it, or loads the model."""

    @property
    def is_going(self) -> bool:
        return self.training.state in UNFINISHED_STATES

    @property
    def steps(self) -> int:
        return int(self.training.options["steps"])

    @property
    def percent(self) -> int:
        return min(100, 100 * self.training.step // self.steps)

    @property
    def can_resume(self) -> bool:
        training = self.training
        return training.state in (RunState.PAUSED, RunState.FAILED) and training.model_id is None

    @property
    def can_cancel(self) -> bool:
        return self.is_going or self.can_resume


@dataclass(frozen=True)
class TrainingCurve:
    """Steps of a training, evenly chosen where there are too many, and all its validations."""

    steps: Sequence[TrainingStep]
    validations: Sequence[TrainingValidation]


@dataclass(frozen=True)
class SampleCaptions:
    """What a training wrote of one image in one language: pairs of step and caption."""

    image: Image
    language: Language
    captions: Sequence[tuple[int, str]]


@dataclass(frozen=True)
class TrainingDetails(TrainingRow):
    latest: TrainingStep | None
    left: timedelta | None
    listeners: int
    curve: TrainingCurve
    samples: Sequence[SampleCaptions]
    hidden: int
    """Sample images that are not shown, because the viewer writes about them right now."""
    log: Sequence[TrainingEvent]

    @property
    def command(self) -> str:
        """What starts a worker, where the training waits for one and none takes from its queue."""
        return "" if self.listeners or not self.is_going else WORKER_COMMAND.format(queue=self.training.queue)

    @property
    def took(self) -> timedelta | None:
        training = self.training
        ended = training.finished_at
        return ended - training.started_at if training.started_at and ended else None


def trainings(viewer: User) -> QuerySet[Training]:
    return trainings_for(viewer).select_related("base", "model", "project")


def training_rows(trainings: Sequence[Training]) -> list[TrainingRow]:
    return [TrainingRow(training, _is_loading(training)) for training in trainings]


def training_details(training: Training, viewer: User, *, now: datetime) -> TrainingDetails:
    curve = curve_of(training)
    samples, hidden = samples_of(training, viewer, curve.validations)
    latest = training.curve.order_by("-step").first()
    left = int(training.options["steps"]) - training.step
    is_known = latest is not None and training.state == RunState.RUNNING
    batch = int(training.options["batch_size"])
    return TrainingDetails(
        training=training,
        is_loading=_is_loading(training),
        latest=latest,
        left=timedelta(seconds=left * batch / latest.images_per_s) if is_known and latest and left else None,
        listeners=sum(row.is_there and training.queue in row.queues for row in worker_rows(now=now)),
        curve=curve,
        samples=samples,
        hidden=hidden,
        log=list(training.events.order_by("-pk")[:NEWEST_LINES])[::-1],
    )


def curve_of(training: Training) -> TrainingCurve:
    last = training.curve.aggregate(Max("step"))["step__max"] or 0
    every = max(1, last // MAX_POINTS)
    shown = training.curve.alias(rest=F("step") % every).filter(Q(rest=0) | Q(step__in=[1, last]))
    return TrainingCurve(list(shown), list(training.validations.all()))


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
    samples = [
        SampleCaptions(images[name], languages[language], captions)
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


def _is_loading(training: Training) -> bool:
    return training.state == RunState.RUNNING and not training.made
