"""Choosing images by place: places of images, areas of languages, candidates, selections and named subsets."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.images.models import Collection, Image
from core.jobs.models import Job
from core.languages.models import Language
from core.people.models import Project
from research.selection.rules import tables


class PlaceLevelChoice(models.TextChoices):
    """How near to its language an image was taken: `levels.PlaceLevel` with the words of pages."""

    REGION = tables.PlaceLevel.REGION, _("Region")
    COUNTRY = tables.PlaceLevel.COUNTRY, _("Country")
    CONTINENT = tables.PlaceLevel.CONTINENT, _("Continent")
    ANYWHERE = tables.PlaceLevel.ANYWHERE, _("Anywhere")


class Located(models.Model):
    """Something with a place, as the borders of one version had it."""

    countries = models.CharField(
        max_length=60, blank=True, help_text="ISO 3166-1 codes, separated by spaces; several where disputed."
    )
    regions = models.CharField(
        max_length=200,
        blank=True,
        help_text="ISO 3166-2 or imported codes, separated by spaces; the most detailed first.",
    )
    continent = models.CharField(max_length=2, blank=True)

    class Meta:
        abstract = True


class ImagePlace(Located):
    """Where an image was taken. `problem` says why its coordinates cannot be right."""

    image = models.OneToOneField(Image, on_delete=models.CASCADE, primary_key=True, related_name="place")
    latitude = models.FloatField(help_text="degrees north, as it was when the place was looked up")
    longitude = models.FloatField(help_text="degrees east, as it was when the place was looked up")
    problem = models.CharField(max_length=20, blank=True)
    borders = models.CharField(max_length=80, help_text="Version of the borders.")

    class Meta:
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["borders"], name="image_place_by_borders")]

    def __str__(self) -> str:
        return self.regions or self.countries or self.continent or "at sea"


class ImagePlaceCode(models.Model):
    """A country or region that an image was taken in, for questions such as “all images from IN-WB”."""

    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="place_codes")
    code = models.CharField(max_length=40)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["image", "code"], name="image_place_code_once"),
        ]
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["code", "image"], name="image_by_place_code")]

    def __str__(self) -> str:
        return self.code


class RegionFile(models.Model):
    """A file of polygons that `import_regions` read: regions that the borders which come with the platform lack."""

    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64, unique=True)
    source = models.TextField(blank=True, help_text="Where it is from, and its licence.")
    imported_at = models.DateTimeField()
    imported_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]

    def __str__(self) -> str:
        return self.name


class ImportedRegion(models.Model):
    """The polygon of a region, in degrees (WGS 84)."""

    file = models.ForeignKey(RegionFile, on_delete=models.CASCADE, related_name="imported_regions")
    code = models.CharField(max_length=40, unique=True)
    name = models.CharField(max_length=200, blank=True)
    shape = models.BinaryField(help_text="Well-known binary (WKB).")

    class Meta:
        ordering: ClassVar[list[str]] = ["code"]

    def __str__(self) -> str:
        return self.code


class LanguageTable(models.Model):
    """A version of a project's table of where languages are spoken; never edited, only replaced by the next."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="language_tables")
    number = models.PositiveIntegerField()
    areas = models.JSONField(help_text="Lists region, country and continent by language tag.")
    note = models.TextField(blank=True, help_text="What changed and why.")
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "number"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "number"], name="language_table_number_once"),
        ]

    def __str__(self) -> str:
        return f"language table {self.number} of project {self.project_id}"


class CandidateList(models.Model):
    """Candidates read from a file: addresses of images with coordinates, without the images themselves."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="candidate_lists")
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=120)
    source_name = models.CharField(max_length=500)
    sha256 = models.CharField(max_length=64, blank=True, help_text="Of the file.")
    borders = models.CharField(max_length=80, blank=True, help_text="Version of the borders.")
    counts = models.JSONField(default=dict, help_text="How many lines were read, kept, and left out by reason.")
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "name", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "slug"], name="candidate_list_slug_once"),
        ]

    def __str__(self) -> str:
        return self.name


class Candidate(Located):
    """An image that could be chosen."""

    list = models.ForeignKey(CandidateList, on_delete=models.CASCADE, related_name="candidates")
    key = models.CharField(max_length=200)
    address = models.CharField(max_length=2000, help_text="https:// or http:// address, or a path in a folder.")
    latitude = models.FloatField(help_text="degrees north")
    longitude = models.FloatField(help_text="degrees east")
    title = models.CharField(max_length=500, blank=True)
    author = models.CharField(max_length=500, blank=True)
    licence = models.CharField(max_length=200, blank=True)
    licence_url = models.CharField(max_length=500, blank=True)
    checksum = models.CharField(max_length=140, blank=True, help_text="As algorithm:hexadecimal or base64, if known.")
    bytes = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["list", "key"], name="candidate_key_once"),
            models.CheckConstraint(
                condition=Q(latitude__range=(-90, 90)) & Q(longitude__range=(-180, 180)), name="candidate_on_earth"
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Selection(Job):
    """Images chosen for languages by place. A draft is a preview; confirmed, its images are a collection.

    `state` is that of the background work that chooses. What it depended on is stored with it, so that it can be made
    again: seed, levels, table and borders.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="selections")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    source = models.ForeignKey(Collection, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    candidates = models.ForeignKey(
        CandidateList, on_delete=models.PROTECT, null=True, blank=True, related_name="selections"
    )
    languages = models.JSONField(help_text="Tags of the languages.")
    levels = models.JSONField(help_text="The levels allowed, the best first.")
    per_language = models.PositiveIntegerField()
    seed = models.BigIntegerField()
    areas = models.JSONField(help_text="Lists region, country and continent of each of the languages.")
    table = models.CharField(max_length=80, help_text="Version of the table of languages.")
    borders = models.CharField(max_length=80, blank=True, help_text="Version of the borders.")
    counts = models.JSONField(default=dict, help_text="By language: the pool, what was chosen and what is missing.")
    collection = models.OneToOneField(
        Collection,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="selection",
        help_text="Of the images chosen, once confirmed.",
    )
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    confirmed_at = models.DateTimeField(null=True, blank=True)
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "-number"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "number"], name="selection_number_once"),
            models.CheckConstraint(
                condition=Q(source__isnull=False, candidates__isnull=True)
                | Q(source__isnull=True, candidates__isnull=False),
                name="selection_from_one_source",
            ),
            models.CheckConstraint(
                condition=Q(confirmed_at__isnull=True) | Q(collection__isnull=False, state="done"),
                name="selection_confirmed_has_a_collection",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class LanguageCollection(models.Model):
    """A collection of those images of a confirmed selection that were chosen for one language."""

    selection = models.ForeignKey(Selection, on_delete=models.CASCADE, related_name="language_collections")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    collection = models.OneToOneField(Collection, on_delete=models.PROTECT, related_name="language_of_selection")

    class Meta:
        ordering: ClassVar[list[str]] = ["selection", "language"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["selection", "language"], name="selection_language_has_one_collection"),
        ]

    def __str__(self) -> str:
        return f"{self.selection_id}: {self.language_id}"


class SelectedImage(Located):
    """An image chosen for a language, and from which level. `image` is empty until a candidate's file is imported."""

    selection = models.ForeignKey(Selection, on_delete=models.CASCADE, related_name="selected_images")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    level = models.CharField(max_length=9, choices=PlaceLevelChoice.choices)
    position = models.PositiveIntegerField(help_text="In the order of choice within its language, from 1.")
    key = models.CharField(max_length=200)
    image = models.ForeignKey(Image, on_delete=models.PROTECT, null=True, blank=True, related_name="selected")
    candidate = models.ForeignKey(Candidate, on_delete=models.PROTECT, null=True, blank=True, related_name="selected")

    class Meta:
        ordering: ClassVar[list[str]] = ["selection", "language", "position"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["selection", "key"], name="selected_key_once"),
            models.UniqueConstraint(fields=["selection", "image"], name="selected_image_once"),
            models.UniqueConstraint(fields=["selection", "language", "position"], name="selected_position_once"),
            models.CheckConstraint(condition=Q(level__in=PlaceLevelChoice.values), name="selected_level_known"),
            models.CheckConstraint(
                condition=Q(image__isnull=False) | Q(candidate__isnull=False), name="selected_from_somewhere"
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Exchange(models.Model):
    """An image of a selection replaced by another one for a reason."""

    selection = models.ForeignKey(Selection, on_delete=models.CASCADE, related_name="exchanges")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, related_name="+")
    removed = models.CharField(max_length=200, help_text="Key of the image that left.")
    added = models.CharField(max_length=200, help_text="Key of the image that took its place.")
    removed_level = models.CharField(max_length=9, choices=PlaceLevelChoice.choices)
    added_level = models.CharField(max_length=9, choices=PlaceLevelChoice.choices)
    reason = models.TextField()
    at = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["selection", "removed"], name="exchange_never_taken_back"),
            models.CheckConstraint(condition=~Q(reason=""), name="exchange_for_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.removed} by {self.added}"


class Subset(models.Model):
    """A named set of images of a project, to compute figures over: XM600, for one."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="subsets")
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    images = models.ManyToManyField(Image, related_name="+")
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "name", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "slug"], name="subset_slug_once"),
        ]

    def __str__(self) -> str:
        return self.name
