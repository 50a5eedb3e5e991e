"""Read runs, trainings and the workers that do them, by exact counters alone: pages never count captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet

from core.images.models import Image
from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.people.models import User
from research.inference.backends.captioners import BackendSettingsError
from research.inference.backends.endpoint_options import prices_of
from research.inference.models import (
    CaptioningModel,
    Run,
    RunEvent,
    RunFailure,
    RunState,
    Training,
    TrainingEvent,
    TrainingStep,
    TrainingValidation,
    Worker,
)
from research.inference.permissions import runs_for, trainings_for
from research.inference.rules.runs import unpack_ids
from research.inference.selectors import assigned_work
from research.inference.selectors.gallery import hidden_from

THERE_FOR = timedelta(seconds=45)
"""A worker that has been silent for longer is taken to be gone."""
LISTED_FOR = timedelta(days=1)
NO_PYTORCH = "no PyTorch"
"""How the software of a worker begins that has none."""
NEWEST_LINES = 100
COMMONEST_REASONS = 10
MAX_POINTS = 120
"""Of a curve: more than a plot has room for says nothing."""
NEWEST_SAMPLES = 6
"""Validations whose captions are shown beside one another, of which the first is the model before it learned."""
SampleCaptions = tuple[Image, Language, Sequence[tuple[int, str]]]
"""What a training wrote of one image in one language: pairs of step and caption."""


@dataclass(frozen=True)
class WorkerRow:
    worker: Worker
    is_there: bool
    silent_s: int

    @property
    def queues(self) -> list[str]:
        return [name.strip() for name in self.worker.queues.split(",") if name.strip()]

    def listens_to(self, queue: str) -> bool:
        return self.is_there and queue in self.queues

    @property
    def packages(self) -> str:
        return ", ".join(self.worker.packages.split(","))

    @property
    def silent(self) -> timedelta:
        return timedelta(seconds=self.silent_s)

    @property
    def memory_percent(self) -> int | None:
        """How much of the device's memory is used."""
        used, total = self.worker.device_memory, self.worker.device_memory_total
        return None if used is None or not total else min(100, round(100 * used / total))

    @property
    def busy_percent(self) -> int | None:
        return None if self.worker.device_busy is None else round(100 * self.worker.device_busy)

    @property
    def lacks_pytorch(self) -> bool:
        return self.worker.software.startswith(NO_PYTORCH)


def worker_rows(*, now: datetime) -> list[WorkerRow]:
    """List active workers, and below them those that fell silent within a day."""
    workers = Worker.objects.filter(seen_at__gte=now - LISTED_FOR).select_related(
        "run__model", "run__encoder", "training"
    )
    rows = [
        WorkerRow(
            worker=worker,
            is_there=now - worker.seen_at <= THERE_FOR,
            silent_s=max(0, int((now - worker.seen_at).total_seconds())),
        )
        for worker in workers
    ]
    return sorted(rows, key=lambda row: (not row.is_there, row.worker.name))


@dataclass(frozen=True)
class RunDetails:
    """What the page of a run shows of its workers, and what follows from it."""

    run: Run
    workers: Sequence[WorkerRow]
    """Those that are on it right now."""
    lacks_worker: bool
    """It waits for one, and none takes from its queue."""
    rate: float | None
    """Per second; of all workers over the last minute, or on average where none says its own. None: not known yet."""
    left: timedelta | None

    @property
    def is_loading(self) -> bool:
        """It is still queued, but a worker has claimed it and loads the model."""
        return self.run.state == RunState.QUEUED and bool(self.workers)

    @property
    def cost(self) -> float | None:
        """In the currency of the model's prices; None where it has none."""
        model = self.run.model
        if model is None:
            return None
        options = model.translator.options if model.translator is not None else model.options
        try:
            prices = prices_of(options)
        except BackendSettingsError:
            return None
        return prices.cost((self.run.input_tokens, self.run.output_tokens)) if prices else None


@dataclass(frozen=True)
class RunLog:
    """The last lines of a run's log, the oldest first, and the number of lines before them."""

    lines: Sequence[RunEvent]
    before: int

    @property
    def last(self) -> int:
        return self.lines[-1].pk if self.lines else 0


def runs(viewer: User, model: CaptioningModel | None = None, *, now: datetime) -> QuerySet[Run]:
    """List the runs that `viewer` may see, or those of `model`, the newest first; see `RunDetails.is_loading`."""
    rows = runs_for(viewer).select_related("model", "encoder", "collection", "project").prefetch_related("languages")
    there = Worker.objects.filter(run=OuterRef("pk"), seen_at__gte=now - THERE_FOR)
    rows = rows.annotate(is_loading=Q(state=RunState.QUEUED) & Exists(there))
    return rows if model is None else rows.filter(model=model)


def run_details(run: Run, *, now: datetime) -> RunDetails:
    """Read the details of `run`, a fresh row, with one query for its workers."""
    workers = worker_rows(now=now)
    on_it = [row for row in workers if row.worker.run_id == run.pk and row.is_there]
    rate = _rate(run, on_it, now) if run.state != RunState.QUEUED else None
    left = max(0, run.total - run.already - run.done - run.failed)
    return RunDetails(
        run=run,
        workers=on_it,
        lacks_worker=run.is_going and not any(row.listens_to(run.queue) for row in workers),
        rate=rate,
        left=timedelta(seconds=left / rate) if rate and left and run.state == RunState.RUNNING else None,
    )


def log_of(run: Run, *, is_whole: bool = False) -> RunLog:
    lines = list(run.events.order_by("-pk")[: None if is_whole else NEWEST_LINES + 1])
    if is_whole or len(lines) <= NEWEST_LINES:
        return RunLog(lines[::-1], 0)
    return RunLog(lines[NEWEST_LINES - 1 :: -1], run.events.count() - NEWEST_LINES)


def failures_of(run: Run, viewer: User) -> QuerySet[RunFailure]:
    """List the failures, without those of images that are assigned to `viewer`."""
    failures = run.failures.exclude(assigned_work.is_assigned(viewer, "image"))
    return failures.select_related("image", "language").order_by("pk")


def reasons_of(failures: QuerySet[RunFailure]) -> list[tuple[str, int]]:
    """Count the most common reasons for failures."""
    counts = failures.select_related(None).values_list("reason").annotate(number=Count("pk"))
    return list(counts.order_by("-number", "reason")[:COMMONEST_REASONS])


def _rate(run: Run, workers: Sequence[WorkerRow], now: datetime) -> float | None:
    reported = sum(row.worker.rate or 0.0 for row in workers)
    if reported and run.state == RunState.RUNNING:
        return reported
    if run.started_at is None or not run.done + run.failed:
        return None
    seconds = ((run.finished_at or now) - run.started_at).total_seconds()
    return (run.done + run.failed) / seconds if seconds > 0 else None


@dataclass(frozen=True)
class TrialDetails:
    """The image and its captions with their stabilisers. While it is assigned to the viewer, there is none of it."""

    image: ServedImage | None = None
    key: str = ""
    captions: Sequence[tuple[Language, Mapping[str, str]]] = ()


def trial_details(run: Run, viewer: User) -> TrialDetails:
    image = run.trial_image
    assert image is not None
    if hidden_from(viewer, [image.pk]):
        return TrialDetails()
    entry = run.collection.entries.filter(image=image).first()
    return TrialDetails(
        image=served_image(image, viewer),
        key=entry.key if entry else "",
        captions=[
            (language, run.trial_captions[language.tag])
            for language in run.languages.all()
            if language.tag in run.trial_captions
        ],
    )


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
