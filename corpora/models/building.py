"""Illustrated corpora built from parallel text: their files, steps, jobs, and what was struck out of them."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from images.models import OPEN_STATES, Leased
from parallel_text.step_names import STEP_NAMES
from people.models import Project


class CorpusBuild(models.Model):
    """A corpus that is built on the platform. `configuration` has its thresholds and seed."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="corpus_builds")
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=120)
    key = models.UUIDField(unique=True, default=uuid.uuid4, editable=False, help_text="Names its folder in storage.")
    configuration = models.JSONField(default=dict, help_text="As in TOML, without name and files.")
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "name", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "slug"], name="corpus_slug_once"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def folder(self) -> str:
        """Where its files are in storage."""
        return f"corpora/{self.key.hex}"


class FileRole(models.TextChoices):
    """What a file of a corpus is for."""

    TEXT = "text", _("Parallel text")
    RATINGS = "ratings", _("Ratings of imageability")
    VECTORS = "vectors", _("Word vectors")
    INVENTORY = "inventory", _("Sense inventory")
    MANIFEST = "manifest", _("Manifest of images")
    IMAGES = "images", _("Images (ZIP)")
    FEATURES = "features", _("Features of images")


WITH_LANGUAGE = (FileRole.TEXT, FileRole.INVENTORY)
ONE_EACH = (FileRole.RATINGS, FileRole.VECTORS, FileRole.MANIFEST, FileRole.IMAGES, FileRole.FEATURES)


class Side(models.TextChoices):
    """Which side of a Moses pair a file is. Other files are neither."""

    ENGLISH = "english", _("English side")
    OTHER = "other", _("Other side")


class CorpusFile(models.Model):
    """A file that a corpus is made from. `name` is as uploaded; another file of that name takes its place."""

    build = models.ForeignKey(CorpusBuild, on_delete=models.CASCADE, related_name="files")
    role = models.CharField(max_length=9, choices=FileRole.choices)
    language = models.CharField(
        max_length=35, blank=True, help_text="Tag; of the other language for both sides of parallel text."
    )
    side = models.CharField(max_length=7, choices=Side.choices, blank=True)
    format = models.CharField(max_length=10, blank=True, help_text="Empty: recognised from the file.")
    name = models.CharField(max_length=255)
    stored = models.CharField("name in storage", max_length=200)
    sha256 = models.CharField(max_length=64)
    bytes = models.PositiveBigIntegerField()
    added_at = models.DateTimeField()
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["build", "role", "language", "name"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["build", "name"], name="corpus_file_name_once"),
            models.UniqueConstraint(
                fields=["build", "role"], condition=Q(role__in=ONE_EACH), name="corpus_file_one_of_its_role"
            ),
            models.CheckConstraint(condition=Q(role__in=FileRole.values), name="corpus_file_role_known"),
            models.CheckConstraint(
                condition=Q(role__in=WITH_LANGUAGE) & ~Q(language="") | Q(role__in=ONE_EACH, language=""),
                name="corpus_file_language_where_it_has_one",
            ),
            models.CheckConstraint(
                condition=Q(side="") & ~Q(format="moses") | Q(side__in=Side.values, role=FileRole.TEXT, format="moses"),
                name="corpus_file_side_of_moses_only",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class StepState(models.TextChoices):
    """How far a step is. The steps of a build run one after the other."""

    IDLE = "idle", _("Not started")
    WAITING = "waiting", _("Waiting")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


class CorpusStep(models.Model):
    """A step of building a corpus, one of `STEP_NAMES`. `report` is what `steps/NAME.json` has of it."""

    build = models.ForeignKey(CorpusBuild, on_delete=models.CASCADE, related_name="steps")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=12)
    state = models.CharField(max_length=7, choices=StepState.choices, default=StepState.IDLE)
    again = models.BooleanField(default=False, help_text="To be done even if it is up to date.")
    fingerprint = models.CharField(max_length=64, blank=True)
    report = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["build", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["build", "name"], name="corpus_step_once"),
            models.UniqueConstraint(
                fields=["build"], condition=Q(state="running"), name="corpus_runs_one_step_at_a_time"
            ),
            models.CheckConstraint(condition=Q(name__in=STEP_NAMES), name="corpus_step_known"),
            models.CheckConstraint(condition=Q(state__in=StepState.values), name="corpus_step_state_known"),
            models.CheckConstraint(
                condition=~Q(state="done") | (Q(finished_at__isnull=False) & ~Q(fingerprint="")),
                name="corpus_step_done_has_a_fingerprint",
            ),
            models.CheckConstraint(condition=Q(state="failed") | Q(error=""), name="corpus_step_error_of_failed_only"),
        ]

    def __str__(self) -> str:
        return self.name


class JobKind(models.TextChoices):
    """A step is planned, its chunks run on any workers, and one of them finishes it."""

    PLAN = "plan", _("Plan")
    CHUNK = "chunk", _("Chunk")
    FINISH = "finish", _("Finish")


class CorpusJob(Leased):
    """A part of a step that one worker claims at a time."""

    step = models.ForeignKey(CorpusStep, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=6, choices=JobKind.choices)
    position = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=255, blank=True, help_text="Of the chunk.")
    holder = models.CharField(max_length=200, blank=True, help_text="The worker's name.")
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["step", "kind", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["step", "kind", "position"], name="corpus_job_once"),
            models.UniqueConstraint(
                fields=["step", "name"], condition=Q(kind="chunk"), name="corpus_chunk_of_a_name_once"
            ),
            models.CheckConstraint(condition=Q(kind__in=JobKind.values), name="corpus_job_kind_known"),
            models.CheckConstraint(condition=Q(kind="chunk") | Q(position=0, name=""), name="corpus_job_one_plan"),
            models.CheckConstraint(
                condition=~Q(state="running") | Q(lease_until__isnull=False),
                name="corpus_job_runs_under_a_lease",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["step", "position"], condition=Q(state__in=OPEN_STATES), name="corpus_job_to_do"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} of step {self.step_id}"


class ExclusionKind(models.TextChoices):
    WORD = "word", _("Word")
    SENSE = "sense", _("Sense")
    IMAGE = "image", _("Image")


class CorpusExclusion(models.Model):
    """A word, a sense of a word, or an image that a manager struck out of a corpus."""

    build = models.ForeignKey(CorpusBuild, on_delete=models.CASCADE, related_name="exclusions")
    kind = models.CharField(max_length=5, choices=ExclusionKind.choices)
    word = models.CharField(max_length=200, blank=True, help_text="English lemma.")
    synset = models.CharField(max_length=80, blank=True)
    image = models.CharField(max_length=500, blank=True, help_text="File, as the manifest has it.")
    reason = models.TextField(blank=True)
    at = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["build", "kind", "word", "synset", "image"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["build", "kind", "word", "synset", "image"], name="corpus_excluded_once"),
            models.CheckConstraint(
                condition=(Q(kind="word", synset="", image="") & ~Q(word=""))
                | (Q(kind="sense", image="") & ~Q(word="") & ~Q(synset=""))
                | (Q(kind="image", word="", synset="") & ~Q(image="")),
                name="corpus_exclusion_names_its_kind",
            ),
        ]

    def __str__(self) -> str:
        return " ".join(part for part in (self.word, self.synset, self.image) if part)
