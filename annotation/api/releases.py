"""Start, list and download releases of a project, file by file or as an archive."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import tasks
from annotation.api.managing import with_words
from annotation.formats.archives import MANIFEST
from annotation.models import Release
from annotation.permissions import release_for
from annotation.rules.releases import LICENCES
from annotation.services import releases
from annotation.services.references import use_release_as_references
from core.allocation.api.steps import refusals_as_problems
from core.jobs.models import JobState
from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.problems import ApiError
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.models import Role
from research.scoring.api.references import ReferenceSetsSerializer
from research.scoring.services.references import ReferenceFileError

api = ApiOperations("releases")


class ReleaseSerializer(serializers.ModelSerializer[Release]):
    state = serializers.ChoiceField(JobState.choices)
    counts = serializers.DictField(help_text="What it has, and what was left out and why.")

    class Meta:
        model = Release
        fields = (
            "number",
            "title",
            "licence",
            "authors",
            "description",
            "changes",
            "state",
            "error",
            "until",
            "created_at",
            "finished_at",
            "archive_bytes",
            "checksum",
            "counts",
        )
        read_only_fields = fields


class NewReleaseSerializer(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=200)
    licence = serializers.ChoiceField(sorted(LICENCES), help_text="Licence of the captions, by its SPDX identifier.")
    authors = serializers.CharField(max_length=10_000, help_text="One per line: family name, given names.")
    description = serializers.CharField(max_length=50_000, allow_blank=True, default="", help_text="Markdown.")
    changes = serializers.CharField(max_length=50_000, allow_blank=True, default="")
    include_images = serializers.BooleanField(
        default=False, help_text="Include the files of images whose licences let everybody pass them on."
    )
    publish_coordinates = serializers.BooleanField(
        default=False, help_text="Publish where each image was taken to a few metres. You cannot take it back."
    )


class FileSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    address = serializers.CharField()


class FilesSerializer(serializers.Serializer[Any]):
    results = FileSerializer(many=True)


@api.list("releases", "The releases of a project", "ReleasePage", ReleaseSerializer)
def release_list(request: Request, slug: str) -> Response:
    rows = Release.objects.filter(project=with_words(request, slug))
    return page(request, [ListPart(0, rows)], order=["number"], show=many_shown(ReleaseSerializer))


@api.post(
    "release_start",
    "Make a release",
    {202: ReleaseSerializer},
    description="The release is made in the background. Poll it until its state is done, or use a webhook.",
    request=NewReleaseSerializer,
)
def release_start(request: Request, slug: str) -> Response:
    project = with_words(request, slug, Role.MANAGER)
    sent = validated_data(NewReleaseSerializer, request)
    with refusals_as_problems():
        made = releases.start_release(project=project, by=person_asking(request), now=timezone.now(), **sent)
    tasks.ask_for_release(made.pk)
    return started(ReleaseSerializer(made).data, "release", made.pk)


@job_kind("release")
def release_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    for slug, number in Release.objects.filter(pk__in=pks).values_list("project__slug", "number"):
        made = release_of(request, slug, number)
        address = reverse("api:release-show", args=[slug, number])
        yield JobReport(made.state, address, made.error, finished_at=made.finished_at)


@api.get("release", "A release", ReleaseSerializer)
def release_show(request: Request, slug: str, number: int) -> Response:
    return Response(ReleaseSerializer(release_of(request, slug, number)).data)


@api.post(
    "release_references",
    "Use the captions of a release as references",
    {201: ReferenceSetsSerializer},
    description="A set for each collection and language. Repeating it finishes what was interrupted.",
)
def release_references(request: Request, slug: str, number: int) -> Response:
    release = release_for(person_asking(request), slug, number)
    if release.state != JobState.DONE:
        raise Http404(_("This release has no files."))
    try:
        made = use_release_as_references(release=release, by=person_asking(request), now=timezone.now())
    except ReferenceFileError as refused:
        raise ApiError(409, "references-refused", refused) from None
    return Response(ReferenceSetsSerializer({"results": made}).data, status=201)


@api.get("release_files", "The files of a release", FilesSerializer)
def release_files(request: Request, slug: str, number: int) -> Response:
    release = release_of(request, slug, number, is_done=True)
    files = [file | {"address": f"{request.path}{file['name']}/"} for file in files_of(release)]
    return Response(FilesSerializer({"results": files}).data)


@api.get(
    "release_file", "One file of a release", {(200, "application/octet-stream"): OpenApiTypes.BINARY}, is_file=True
)
def release_file(request: Request, slug: str, number: int, name: str) -> FileResponse:
    release = release_of(request, slug, number, is_done=True)
    # Only names of its own files: another path could lead anywhere in storage.
    if name != MANIFEST and name not in {file["name"] for file in files_of(release)}:
        raise Http404(_("There is no such file in this release."))
    return file_response(f"{release.folder}/{name}", name.rpartition("/")[2])


@api.get(
    "release_archive", "A whole release as one archive", {(200, "application/gzip"): OpenApiTypes.BINARY}, is_file=True
)
def release_archive(request: Request, slug: str, number: int) -> FileResponse:
    release = release_of(request, slug, number, is_done=True)
    return file_response(release.archive, f"{releases.name_of(release)}.tar.gz", content_type="application/gzip")


def release_of(request: Request, slug: str, number: int, *, is_done: bool = False) -> Release:
    """Find a release of a project whose captions the asker may read now."""
    releases = Release.objects.filter(project=with_words(request, slug), number=number).select_related("project")
    release = (releases.filter(state=JobState.DONE) if is_done else releases).first()
    if release is None:
        raise Http404(_("There is no such release, or it has no files yet."))
    return release


def files_of(release: Release) -> list[dict[str, Any]]:
    with open_stored(f"{release.folder}/{MANIFEST}") as file:
        files: list[dict[str, Any]] = json.load(file)["files"]
    return files


def file_response(name: str, called: str, content_type: str = "application/octet-stream") -> FileResponse:
    answer = FileResponse(open_stored(name), filename=called, as_attachment=True, content_type=content_type)
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def open_stored(name: str) -> File[bytes]:
    try:
        return default_storage.open(name)
    except FileNotFoundError as error:
        raise Http404(_("The file is no longer in storage. Ask the administrator of this site.")) from error


release_list_or_start = one_address(release_list, release_start)
