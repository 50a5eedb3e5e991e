"""Runs and trainings, their logs, and the workers that execute them."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection, Image
from core.jobs.models import OPEN_STATES, Leased
from core.languages.models import Language
from core.people.models import Owned
from research.inference.models.registered import CaptioningModel, Encoder


class RunState(models.TextChoices):
    QUEUED = "queued", _("Waiting for a worker")
    RUNNING = "running", _("Running")
    PAUSED = "paused", _("Paused")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


UNFINISHED_STATES = (RunState.QUEUED, RunState.RUNNING)


class Work(Owned):
    """What workers do, and people pause, resume and cancel: a run or a training."""

    state = models.CharField(max_length=9, choices=RunState.choices, default=RunState.QUEUED)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        abstract = True

    @property
    def is_going(self) -> bool:
        return self.state in UNFINISHED_STATES

    @property
    def took(self) -> timedelta | None:
        """From its start to its end; None until then."""
        return self.finished_at - self.started_at if self.started_at and self.finished_at else None


class Run(Work):
    """One job over a collection's images: captions by a model, or vectors by an encoder.

    The chunks are the truth; the counters are kept in the transactions that store what they count, so that they are
    exact. `total` = `already` + `done` + `failed` in the end, in captions (images × languages) or vectors.

    A trial is over one image. Its captions stay with it, for nobody but who began it; they are not the model's.
    """

    model = models.ForeignKey(CaptioningModel, on_delete=models.PROTECT, null=True, blank=True, related_name="runs")
    encoder = models.ForeignKey(Encoder, on_delete=models.PROTECT, null=True, blank=True, related_name="runs")
    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="runs")
    trial_image = models.ForeignKey(
        Image, on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="Of a trial only."
    )
    trial_captions = models.JSONField(
        default=dict, blank=True, help_text="By language tag, with `text` and `stabiliser` of each."
    )
    languages = models.ManyToManyField(Language, blank=True, related_name="+")
    decoding = models.JSONField(default=dict, blank=True, help_text="Of a captioning run; empty for vectors.")
    queue = models.CharField(max_length=40, help_text="The Celery queue of the workers that can run it.")
    batch_size = models.PositiveIntegerField(default=8, help_text="Images at once; halved where memory runs out.")
    total = models.PositiveIntegerField(default=0)
    already = models.PositiveIntegerField(default=0, help_text="There before the run began.")
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0, help_text="As an endpoint counted them.")
    output_tokens = models.PositiveBigIntegerField(default=0)
    nudged_at = models.DateTimeField(null=True, blank=True, help_text="When workers were last notified of it.")

    class Meta:
        ordering: ClassVar[list[str]] = ["-pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(model__isnull=False, encoder__isnull=True) | Q(model__isnull=True, encoder__isnull=False),
                name="run_of_a_model_or_an_encoder",
            ),
            models.CheckConstraint(
                condition=Q(trial_image__isnull=True) | Q(model__isnull=False, project__isnull=True, is_shared=False),
                name="run_trial_of_one_person",
            ),
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="run_state_known"),
            models.CheckConstraint(condition=Q(batch_size__gte=1), name="run_batch_not_empty"),
            models.CheckConstraint(
                condition=Q(total__gte=F("already") + F("done") + F("failed")), name="run_counts_nothing_twice"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["state", "nudged_at"], condition=Q(state__in=UNFINISHED_STATES), name="run_to_do"),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"

    @property
    def made_by(self) -> CaptioningModel | Encoder:
        made_by = self.encoder or self.model
        assert made_by is not None
        return made_by

    @property
    def processed(self) -> int:
        """What exists or has failed; of a finished run that made nothing, only what exists."""
        has_made_nothing = self.state == RunState.FAILED and self.failed == self.total
        return self.already + self.done + (0 if has_made_nothing else self.failed)

    @property
    def percent(self) -> int:
        """Of what is to be there in the end, what was gone through. 100 only once nothing is left."""
        if not self.total:
            return 100 if self.state == RunState.DONE else 0
        return 100 * self.processed // self.total

    @property
    def can_resume(self) -> bool:
        # Where every image was tried and failed, trying again is what helps.
        is_over = self.already + self.done + self.failed >= self.total
        return self.state == RunState.PAUSED or (self.state == RunState.FAILED and not is_over)

    @property
    def can_cancel(self) -> bool:
        return self.is_going or self.state in (RunState.PAUSED, RunState.FAILED)

    @property
    def can_retry(self) -> bool:
        return bool(self.failed) and not self.is_going


class Chunk(Leased):
    """Images of a run that one worker claims at a time. `image_ids`: 64-bit integers, little-endian."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="chunks")
    position = models.PositiveIntegerField()
    image_ids = models.BinaryField()
    holder = models.CharField(max_length=200, blank=True, help_text="The worker's name.")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Starts since the last progress was stored.")
    vectors = models.PositiveIntegerField(default=0, help_text="How many were stored, where vectors are made.")

    class Meta:
        ordering: ClassVar[list[str]] = ["run", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["run", "position"], name="chunk_once_per_position"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["run", "position"],
                condition=Q(state__in=OPEN_STATES),
                name="chunk_to_do",
            ),
        ]

    def __str__(self) -> str:
        return f"chunk {self.position} of run {self.run_id}"


class RunFailure(models.Model):
    """An image that failed, and why: in a language, or without one if it failed in an encoder."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="failures")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, null=True, related_name="+")
    reason = models.TextField()
    at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["run", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["run", "image", "language"], name="run_failure_once_per_language"),
            models.UniqueConstraint(
                fields=["run", "image"], condition=Q(language__isnull=True), name="run_failure_once_without_language"
            ),
        ]

    def __str__(self) -> str:
        return f"failure {self.pk} of run {self.run_id}"


class Event(models.Model):
    """A line of a log. It never contains a caption's words: tracebacks of single images have no message."""

    at = models.DateTimeField()
    worker = models.CharField(max_length=200, blank=True)
    is_warning = models.BooleanField(default=False)
    message = models.TextField()
    traceback = models.TextField(blank=True, help_text="Where the model's program failed.")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.message


class RunEvent(Event):
    """A line of a run's log."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")

    class Meta:
        ordering: ClassVar[list[str]] = ["run", "pk"]


class Training(Work, Leased):
    """One training of a captioning model on captions of images, which makes another model.

    The captions lie in storage as they were when it was requested. Checkpoints and the model lie in the folder
    `public_id` of TRAININGS_FOLDER. `step` and the curves follow what the worker does. Where another worker resumes it,
    they go on from the last checkpoint. CIDEr is on the ×100 scale.
    """

    public_id = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120, help_text="Of the model that it makes.")
    base = models.ForeignKey(
        CaptioningModel,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="trainings",
        help_text="The model that is trained; empty for a new small one.",
    )
    options = models.JSONField(default=dict, help_text="Of research.inference.training.options.TrainingOptions.")
    model_options = models.JSONField(default=dict, help_text="Options of the model that it makes.")
    sources = models.JSONField(default=list, help_text="Where its captions come from: name, language, digest, counts.")
    data = models.CharField(max_length=200, help_text="Name of its captions in storage; deleted when it is over.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of its captions.")
    captions = models.PositiveIntegerField(help_text="For training.")
    images = models.PositiveIntegerField(help_text="For training.")
    validation_images = models.PositiveIntegerField()
    image_ids = models.BinaryField(
        default=bytes, help_text="Of the images for training: 64-bit integers, little-endian, ascending."
    )
    queue = models.CharField(max_length=40, help_text="The Celery queue of the workers that can train it.")
    holder = models.CharField(max_length=200, blank=True, help_text="The worker's name.")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Starts since the last checkpoint.")
    step = models.PositiveIntegerField(default=0, help_text="The last that is done.")
    best_step = models.PositiveIntegerField(null=True, blank=True)
    best_cider = models.FloatField(null=True, blank=True)
    made = models.JSONField(default=dict, blank=True, help_text="Of research.inference.training.card.Provenance.")
    card = models.TextField(blank=True, help_text="The model card, in Markdown.")
    model = models.OneToOneField(
        CaptioningModel, on_delete=models.PROTECT, null=True, blank=True, related_name="training"
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["-pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="training_state_known"),
            models.CheckConstraint(
                condition=~Q(state=RunState.DONE) | Q(model__isnull=False), name="training_done_has_a_model"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["state", "lease_until"], condition=Q(state__in=UNFINISHED_STATES), name="training_to_do"
            ),
        ]

    def __str__(self) -> str:
        return f"training {self.pk}"

    @property
    def steps(self) -> int:
        return int(self.options["steps"])

    @property
    def percent(self) -> int:
        return min(100, 100 * self.step // self.steps)

    @property
    def is_loading(self) -> bool:
        """A worker has claimed it, and loads the model."""
        return self.state == RunState.RUNNING and not self.made

    @property
    def can_resume(self) -> bool:
        return self.state in (RunState.PAUSED, RunState.FAILED) and self.model_id is None

    @property
    def can_cancel(self) -> bool:
        return self.is_going or self.can_resume


class TrainingStep(models.Model):
    """A step of a training: mean loss of a token, learning rate, images per second, and bytes of memory at most."""

    training = models.ForeignKey(Training, on_delete=models.CASCADE, related_name="curve")
    step = models.PositiveIntegerField()
    loss = models.FloatField()
    learning_rate = models.FloatField()
    images_per_s = models.FloatField()
    memory = models.PositiveBigIntegerField(help_text="bytes")

    class Meta:
        ordering: ClassVar[list[str]] = ["training", "step"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["training", "step"], name="training_step_once"),
        ]

    def __str__(self) -> str:
        return f"step {self.step} of training {self.training_id}"


class TrainingValidation(models.Model):
    """A validation: the mean loss of a token, CIDEr by language and its mean, and captions of the sample images."""

    training = models.ForeignKey(Training, on_delete=models.CASCADE, related_name="validations")
    step = models.PositiveIntegerField()
    loss = models.FloatField()
    cider = models.FloatField()
    languages = models.JSONField(default=dict)
    samples = models.JSONField(default=list, help_text="Image by SHA-256, language and caption.")

    class Meta:
        ordering: ClassVar[list[str]] = ["training", "step"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["training", "step"], name="training_validation_once"),
        ]

    def __str__(self) -> str:
        return f"validation {self.step} of training {self.training_id}"


class TrainingEvent(Event):
    """A line of a training's log."""

    training = models.ForeignKey(Training, on_delete=models.CASCADE, related_name="events")

    class Meta:
        ordering: ClassVar[list[str]] = ["training", "pk"]


class Worker(models.Model):
    """A worker process and its last report. Memory is in bytes, the rate in images per second over the last minute."""

    name = models.CharField(max_length=200, unique=True, help_text="Host and process.")
    queues = models.CharField(max_length=200, blank=True)
    device = models.CharField(max_length=200, blank=True)
    software = models.CharField(max_length=200, blank=True, help_text="Versions, or what is not installed.")
    memory = models.PositiveBigIntegerField(null=True, blank=True, help_text="bytes of the process")
    device_memory = models.PositiveBigIntegerField(null=True, blank=True, help_text="bytes used on the device")
    device_memory_total = models.PositiveBigIntegerField(null=True, blank=True, help_text="bytes")
    gpus = models.PositiveSmallIntegerField(default=0, help_text="GPUs that it may use.")
    machine_memory = models.PositiveBigIntegerField(null=True, blank=True, help_text="bytes of machine or container")
    packages = models.CharField(
        max_length=500, blank=True, help_text="Modules that models may need and that are installed, with commas."
    )
    device_busy = models.FloatField(null=True, blank=True, help_text="share of the last minute, 0 to 1")
    rate = models.FloatField(null=True, blank=True, help_text="captions or vectors per second")
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, blank=True, related_name="workers")
    training = models.ForeignKey(Training, on_delete=models.SET_NULL, null=True, blank=True, related_name="workers")
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name
