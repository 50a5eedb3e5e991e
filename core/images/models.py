"""Images stored by content, the collections they are in, and what an import made of each file."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from core.images.rules.attributions import LABELS
from core.jobs.models import OPEN_STATES, Job
from core.people.models import Owned, Project
from core.people.models.names import NameField


class Image(Job):
    """One image, however often it was uploaded: `sha256` is of the original's bytes. Its job makes the served sizes."""

    public_id = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    sha256 = models.CharField(max_length=64, unique=True)
    original = models.CharField("name in storage", max_length=200)
    format = models.CharField(max_length=8)
    bytes = models.PositiveBigIntegerField()
    width = models.PositiveIntegerField(help_text="pixels, upright")
    height = models.PositiveIntegerField(help_text="pixels, upright")
    title = models.CharField(max_length=500, blank=True)
    author = models.CharField(max_length=500, blank=True)
    licence = models.CharField(max_length=200, blank=True)
    licence_url = models.URLField(max_length=500, blank=True)
    source = models.CharField(max_length=1000, blank=True)
    latitude = models.FloatField(null=True, blank=True, help_text="degrees north")
    longitude = models.FloatField(null=True, blank=True, help_text="degrees east")
    extra = models.JSONField(default=dict, blank=True, help_text="Columns of the manifest that have no field here.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(latitude__isnull=True) | Q(latitude__range=(-90, 90)), name="image_latitude_on_earth"
            ),
            models.CheckConstraint(
                condition=Q(longitude__isnull=True) | Q(longitude__range=(-180, 180)), name="image_longitude_on_earth"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["state", "lease_until"],
                condition=Q(state__in=OPEN_STATES),
                name="image_sizes_to_make",
            ),
        ]

    def __str__(self) -> str:
        return self.title or str(self.public_id)


class Collection(Owned):
    """A named set of images."""

    slug = models.SlugField(unique=True)
    name = NameField(max_length=120)
    description = models.TextField(blank=True)
    images = models.ManyToManyField(Image, through="CollectionImage", related_name="collections")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class CollectionImageQuerySet(models.QuerySet["CollectionImage"]):
    def in_results(self) -> CollectionImageQuerySet:
        """Return those that count in figures and are given as new work."""
        return self.filter(excluded_at=None)

    def left_out(self) -> CollectionImageQuerySet:
        # Not by `exclude`: SQLite finds the rows in the index only if its condition is in the query.
        return self.filter(excluded_at__isnull=False)


class CollectionImage(models.Model):
    """An image in a collection, under its key there. Exports and caption files use the key.

    While it is left out of results, figures over the collection do without it. Other collections are not concerned.
    """

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="entries")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="entries")
    key = models.CharField(max_length=200)
    file_name = models.CharField(
        max_length=255, blank=True, help_text="As imported; files of captions may refer to it."
    )
    position = models.PositiveIntegerField()
    excluded_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when it is left out of results; empty while it counts."
    )
    exclusion_reason = models.CharField(max_length=500, blank=True, default="")

    objects = CollectionImageQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["collection", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["collection", "image"], name="collection_image_once"),
            models.UniqueConstraint(fields=["collection", "key"], name="collection_key_once"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["collection", "position"], name="collection_image_in_order"),
            models.Index(fields=["key"], name="collection_image_by_key"),
            models.Index(fields=["file_name"], name="collection_image_by_file_name"),
            models.Index(
                fields=["collection", "image"],
                condition=Q(excluded_at__isnull=False),
                name="collection_image_left_out",
            ),
        ]

    def __str__(self) -> str:
        return self.key


def is_left_out(*, collection: str, image: str = "image") -> Exists:
    """Return the condition that the image at `image` is left out of results in the collection at `collection`."""
    return Exists(CollectionImage.objects.left_out().filter(collection=OuterRef(collection), image=OuterRef(image)))


class ImageName(models.Model):
    """A further name of an image in a collection: its path with folders, or what another file of the same bytes had."""

    entry = models.ForeignKey(CollectionImage, on_delete=models.CASCADE, related_name="names")
    name = models.CharField(max_length=500)

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["entry", "name"], name="image_name_once"),
        ]
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["name"], name="image_name_by_name")]

    def __str__(self) -> str:
        return self.name


class ImportKind(models.TextChoices):
    IMAGES = "images", _("Images")
    CAPTIONS = "captions", _("Captions by a model")
    ITEMS = "items", _("Sentences with a gap")
    REFERENCES = "refs", _("Reference captions")
    PEOPLE = "people", _("Captions by people")
    CANDIDATES = "cands", _("Candidates")
    JUDGEMENTS = "judged", _("Judgements")
    FILES = "files", _("Files of any kind")


class ImportStage(models.TextChoices):
    """What an import is doing or did last."""

    PREVIEW = "preview", _("Preview")
    IMPORT = "import", _("Import")
    UNDO = "undo", _("Undo")


class ImportJob(Job):
    """One import, from the browser or the command line. `rows` is its report; its files wait in `folder`.

    One of files of any kind has no rows: its `parts` do, one import for each of its files.
    """

    kind = models.CharField(max_length=8, choices=ImportKind.choices)
    stage = models.CharField(
        max_length=7, choices=ImportStage.choices, default=ImportStage.IMPORT, db_default=ImportStage.IMPORT
    )
    part_of = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="parts")
    project = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text="Its managers see the report; without one, only its starter and staff.",
    )
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, null=True, blank=True, related_name="imports")
    options = models.JSONField(
        default=dict, help_text="Further arguments of this kind of import, such as model and language."
    )
    source_name = models.CharField(max_length=500)
    folder = models.CharField(max_length=500, blank=True)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-pk"]

    def __str__(self) -> str:
        return self.source_name


class ImportOutcome(models.TextChoices):
    ADDED = "added", _("Added")
    ALREADY = "already", _("Already there")
    REJECTED = "rejected", _("Not imported")


def _count_of(outcome: str) -> models.PositiveIntegerField[int, int]:
    return models.PositiveIntegerField(
        default=0, db_default=0, help_text=f"How many files or captions of it have the outcome {outcome}."
    )


class ImportRow(models.Model):
    """The outcome of one file or line; `reason` says why it was not simply added, or what of it was left out."""

    job = models.ForeignKey(ImportJob, on_delete=models.CASCADE, related_name="rows")
    number = models.PositiveIntegerField(help_text="Line of the file, or position among the files, from 1.")
    name = models.CharField(max_length=500)
    outcome = models.CharField(max_length=8, choices=ImportOutcome.choices)
    reason = models.TextField(blank=True)
    added = _count_of("added")
    already = _count_of("already")
    rejected = _count_of("rejected")
    had_hidden = models.PositiveIntegerField(
        default=0, db_default=0, help_text="From how many captions of it invisible characters were removed."
    )
    image = models.ForeignKey(Image, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    filled_in = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text="Blank values of a stored image that it filled in: names of fields.",
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["job", "number"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["job", "number"], name="import_row_once_per_number"),
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.name}"

    @property
    def filled_in_labels(self) -> list[str]:
        return [str(LABELS[name]) for name in self.filled_in.split()]


class AttributionChange(models.Model):
    """A change of what is stored about an image, by a person or an import. Earlier releases still read `before`."""

    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="attribution_changes")
    at = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    job = models.ForeignKey(ImportJob, on_delete=models.SET_NULL, null=True, related_name="+")
    before = models.JSONField(help_text="Values by field.")
    after = models.JSONField(help_text="Values of the same fields.")

    class Meta:
        ordering: ClassVar[list[str]] = ["image", "-at", "-pk"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["image", "at"], name="attribution_change_by_time"),
        ]

    def __str__(self) -> str:
        return f"change {self.pk} of image {self.image_id}"
