"""Frozen, numbered datasets of a project, as others cite them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from core.jobs.models import Job
from core.people.models import Project


class ReleaseManager(models.Manager["Release"]):
    """Leaves `places` in the database until it is asked for: it is large."""

    def get_queryset(self) -> models.QuerySet[Release]:
        return super().get_queryset().defer("places")


class Release(Job):
    """One release. Its files are built in the background from what was submitted by `until`; then nothing changes.

    `salt` makes the pseudonyms of this release its own. `counts` says how much it holds, and what was left out and why.
    `checksum` is the SHA-256 of its manifest, which has those of all other files.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="releases")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=200)
    licence = models.CharField(max_length=100, help_text="Of the captions, by its SPDX identifier, such as CC-BY-4.0.")
    authors = models.TextField(help_text="As they should be cited, one a line: family name, given names.")
    description = models.TextField(blank=True, help_text="Markdown; opens the datasheet.")
    changes = models.TextField(blank=True, help_text="What changed since the previous release, in the manager's words.")
    salt = models.CharField(max_length=64)
    until = models.DateTimeField()
    folder = models.CharField(max_length=200, blank=True, help_text="Name in storage.")
    archive = models.CharField(max_length=200, blank=True, help_text="Name in storage.")
    archive_bytes = models.PositiveBigIntegerField(default=0)
    checksum = models.CharField(max_length=64, blank=True)
    counts = models.JSONField(default=dict)
    format = models.PositiveSmallIntegerField(
        default=1, help_text="Version of the files' format. Since 2, images have their places and levels."
    )
    has_coordinates = models.BooleanField(default=False, help_text="Whether a manager chose to publish coordinates.")
    has_images = models.BooleanField(default=False, help_text="Whether images whose licences allow it are in it.")
    places = models.JSONField(
        default=dict, help_text="Where its images were taken, as it was when the release was made."
    )
    images_left_out = models.JSONField(
        default=list,
        blank=True,
        help_text="Images that were left out of results when it was requested: collection and SHA-256 of each.",
    )
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    objects = ReleaseManager()

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "-number"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "number"], name="release_numbered_once"),
            models.CheckConstraint(condition=~Q(state="done") | ~Q(checksum=""), name="release_done_has_a_checksum"),
        ]

    def __str__(self) -> str:
        return f"release {self.number} of project {self.project_id}"
