"""Imports of files as programs steer them: send, read the preview, answer, confirm and undo."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.http import StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.models import ImportJob, ImportKind, ImportStage
from core.images.permissions import collections_in
from core.images.rules.manifests import path_inside
from core.images.selectors import report_table
from core.images.services.import_jobs import discard
from core.images.views.uploads import EchoWriter, LongFileNameError, UploadTooLargeError, receive
from core.jobs.models import JobState
from core.languages.models import Language
from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.problems import ApiError, explain, refused_as
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.permissions import READERS, project_for
from core.people.requests import csv_download
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.formats.recognised_files import CAPTIONS_BY_PEOPLE, MODEL_CAPTIONS, REFERENCES
from crosslens_metrics.formats.table_parts import ALL_PARTS
from gapgame.rules.item_sources import CHOICE_LIMITS, ItemChoice
from office.imports.permissions import file_import_for, file_imports_of
from office.imports.selectors import parts_of
from office.imports.services.file_imports import GAPS, PREVIEW, ImportRefusedError, answer, confirm, start_upload
from office.imports.services.taking import NOTICE
from office.imports.services.undoing import UndoRefusedError, ask_to_undo
from office.imports.tasks import ask_for_stage
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.scoring.services.references import MAX_NAME_CHARACTERS

api = ApiOperations("imports")
explain(
    {
        "import-refused": "The files cannot be imported so, or are being imported already; detail says why.",
        "undo-refused": "Something was made with what the import brought; detail says what.",
    }
)


class PreviewedImagesSerializer(serializers.Serializer[Any]):
    matched = serializers.IntegerField()
    unknown = serializers.IntegerField()


class PreviewProblemSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField(help_text="What is wrong, and what to do.")
    count = serializers.IntegerField(help_text="Of how many captions or lines.")
    example = serializers.CharField()


class PreviewedComparisonSerializer(serializers.Serializer[Any]):
    base_model = serializers.CharField(allow_blank=True)
    test_model = serializers.CharField(allow_blank=True)
    language = serializers.CharField(help_text="Its tag; und if not said.")
    judgements = serializers.IntegerField()
    images = serializers.IntegerField()
    raters = serializers.IntegerField()


class PreviewedFileSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    kind = serializers.CharField(
        help_text="What it holds: images, captions, model captions, references, captions by people, judgements, "
        "gap items, candidates or unknown."
    )
    format = serializers.CharField(allow_blank=True)
    models = serializers.ListField(child=serializers.CharField())
    languages = serializers.DictField(
        child=serializers.IntegerField(), help_text="Captions or judgements by tag; und if not said."
    )
    by_model = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField()),
        required=False,
        help_text="Captions of each model by tag; left out if the file has none by models.",
    )
    comparisons = PreviewedComparisonSerializer(many=True, required=False, help_text="Only of judgements.")
    images = PreviewedImagesSerializer()
    coming = serializers.IntegerField(
        required=False, help_text="How many of the matched images come with the files; left out if none do."
    )
    licences = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="How many of the matched images are under each licence, the most frequent 100.",
    )
    without_licence = serializers.IntegerField(required=False, help_text="How many of the matched images have none.")
    problems = PreviewProblemSerializer(many=True)


class ImportPreviewSerializer(serializers.Serializer[Any]):
    """As `manage.py import --preview --json` says it."""

    files = PreviewedFileSerializer(many=True)


class ImportPartSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="source_name", help_text="The file.")
    kind = serializers.ChoiceField(ImportKind.choices)
    collection = serializers.SlugField(
        source="collection.slug", allow_null=True, default=None, help_text="The short name of its collection."
    )
    state = serializers.ChoiceField(JobState.choices)
    error = serializers.CharField(allow_blank=True)
    total = serializers.IntegerField(help_text="Lines, or images; 0 while that is not known.")
    done = serializers.IntegerField()
    added = serializers.IntegerField(source="sum_added")
    already = serializers.IntegerField(source="sum_already")
    rejected = serializers.IntegerField(source="sum_rejected")


class ImportGapSerializer(serializers.Serializer[Any]):
    answer = serializers.CharField(allow_blank=True, help_text="Which answer is missing; empty if none helps.")
    detail = serializers.CharField()


class FileImportSerializer(serializers.ModelSerializer[ImportJob]):
    """Poll it until its state is done or failed. It waits for you in the stage preview, also if importing it failed."""

    name = serializers.CharField(source="source_name")
    stage = serializers.ChoiceField(ImportStage.choices)
    state = serializers.ChoiceField(JobState.choices)
    notice = serializers.SerializerMethodField(help_text="What to know of an import that is done; empty if nothing.")
    preview = serializers.SerializerMethodField()
    missing = serializers.SerializerMethodField(help_text="What has to be said before it can be confirmed.")
    parts = serializers.SerializerMethodField(help_text="What was made of each file; none once it is undone.")

    class Meta:
        model = ImportJob
        fields = (
            *("id", "name", "stage", "state", "error", "notice"),
            *("preview", "missing", "parts", "created_at", "finished_at"),
        )
        read_only_fields = fields

    def get_notice(self, job: ImportJob) -> str:
        return str(job.options.get(NOTICE, ""))

    @extend_schema_field(ImportPreviewSerializer)
    def get_preview(self, job: ImportJob) -> dict[str, Any]:
        return {"files": job.options.get(PREVIEW, [])}

    @extend_schema_field(ImportGapSerializer(many=True))
    def get_missing(self, job: ImportJob) -> list[dict[str, str]]:
        return [{"answer": part, "detail": text} for part, text in job.options.get(GAPS, [])]

    @extend_schema_field(ImportPartSerializer(many=True))
    def get_parts(self, job: ImportJob) -> Any:
        return ImportPartSerializer(parts_of(job), many=True).data


def _drawn(part: str, help_text: str) -> serializers.IntegerField:
    least, most = CHOICE_LIMITS[part]
    help_text = f"Of a folder made by build_corpus: {help_text}; by default {getattr(ItemChoice, part)}."
    return serializers.IntegerField(required=False, min_value=least, max_value=most, help_text=help_text)


class WishSerializer(serializers.Serializer[Any]):
    """What the files do not say themselves."""

    kind = serializers.ChoiceField(
        [REFERENCES, CAPTIONS_BY_PEOPLE, MODEL_CAPTIONS], required=False, help_text="What the captions are."
    )
    model = serializers.CharField(required=False, max_length=MAX_MODEL_NAME_CHARACTERS, help_text="Whose they are.")
    language = serializers.SlugRelatedField(
        slug_field="tag", queryset=Language.objects.all(), required=False, help_text="The tag of captions without one."
    )
    collection = serializers.SlugField(required=False, help_text="In which the images are, or into which they go.")
    new_collection = serializers.CharField(required=False, max_length=120, help_text="The name of one to make.")
    name = serializers.CharField(required=False, max_length=MAX_NAME_CHARACTERS, help_text="Of the references.")
    is_translated = serializers.BooleanField(required=False, help_text="The references were translated from English.")
    source = serializers.CharField(  # type: ignore[assignment]
        required=False, help_text="Where references or judgements come from, under which licence."
    )
    allows_no_licence = serializers.BooleanField(
        required=False, help_text="Whether candidates without a licence are kept."
    )
    languages = serializers.SlugRelatedField(
        slug_field="tag",
        queryset=Language.objects.all(),
        many=True,
        required=False,
        help_text="Tags of languages to begin, each with a pilot, once the files are imported.",
    )
    places = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=10_000,
        help_text="For so many annotators a link is made in each of them.",
    )
    least = _drawn("least", "at least so many languages share the sense")
    per_word = _drawn("per_word", "at most so many sentences of each word")
    most = _drawn("most", "at most so many sentences in all")
    seed = _drawn("seed", "the same seed draws the same sentences")
    map = serializers.DictField(
        child=serializers.CharField(),
        required=False,
        help_text=f"Names of columns by what they hold: {', '.join(ALL_PARTS)}.",
    )

    def validate(self, sent: dict[str, Any]) -> dict[str, Any]:
        wish = dict(sent)
        if "language" in wish:
            wish["language"] = wish["language"].tag
        if "languages" in wish:
            wish["languages"] = [language.tag for language in wish["languages"]]
        said = wish.pop("map", {})
        if unknown := sorted(said.keys() - ALL_PARTS):
            raise serializers.ValidationError({"map": [_("There is no part %(name)s.") % {"name": unknown[0]}]})
        among = collections_in(self.context["project"], by=self.context["by"])
        if (slug := wish.get("collection")) and not among.filter(slug=slug).exists():
            raise serializers.ValidationError(
                {"collection": [_("There is no such collection in this project. Choose another one.")]}
            )
        drawn = {part: wish.pop(part) for part in CHOICE_LIMITS if part in wish}
        return {name: value for name, value in wish.items() if value} | drawn | ({"said": dict(said)} if said else {})


class SentFilesSerializer(WishSerializer):
    files = serializers.ListField(child=serializers.FileField(allow_empty_file=True), min_length=1)
    paths = serializers.JSONField(required=False, help_text="Where each lies in a folder: a list of paths.")

    def validate(self, sent: dict[str, Any]) -> dict[str, Any]:
        files, paths = sent.pop("files"), sent.pop("paths", None)
        if paths is not None and not (isinstance(paths, list) and [*map(_is_path, paths)] == [True] * len(files)):
            raise serializers.ValidationError({"paths": [_("This is not a list with a path for each file.")]})
        return {"uploads": files, "paths": paths, "wish": super().validate(sent)}


def _is_path(path: object) -> bool:
    try:
        return isinstance(path, str) and path_inside(path) == path
    except LineError:
        return False


@api.list("imports", "The imports of files for a project", "FileImportPage", FileImportSerializer)
def import_list(request: Request, slug: str) -> Response:
    rows = file_imports_of(person_asking(request), project_for(person_asking(request), slug, *READERS))
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(FileImportSerializer))


def _receive(request: Request, slug: str) -> None:
    project_for(person_asking(request), slug, *READERS)
    if hasattr(request._request, "_post"):  # read for the check against forged requests
        return
    try:
        receive(request._request)
    except UploadTooLargeError as error:
        raise ApiError(413, "too-large", error) from error
    except LongFileNameError as error:
        raise serializers.ValidationError({"files": [str(error)]}) from error


@api.post(
    "import_start",
    "Send files",
    {202: FileImportSerializer},
    description="Files of any kind that docs/importing.md lists. They are looked through in the background; nothing is "
    "imported before you confirm it.",
    request={"multipart/form-data": SentFilesSerializer},
    receive=_receive,
)
def import_start(request: Request, slug: str) -> Response:
    project, by = project_for(person_asking(request), slug, *READERS), person_asking(request)
    sent = validated_data(SentFilesSerializer, request, context={"project": project, "by": by})
    job = start_upload(project=project, by=by, **sent)
    ask_for_stage(job.pk)
    return started(FileImportSerializer(job).data, "import", job.pk)


@job_kind("import")
def import_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    for slug, pk in ImportJob.objects.filter(pk__in=pks).values_list("project__slug", "pk"):
        job = file_import_for(person_asking(request), slug, pk)
        parts = parts_of(job)
        yield JobReport(
            job.state,
            reverse("api:import-show", args=[slug, pk]),
            job.error,
            done=sum(part.done for part in parts),
            total=sum(part.total for part in parts),
            finished_at=job.finished_at,
        )


@api.get("import", "An import of files", FileImportSerializer)
def import_show(request: Request, slug: str, job_id: int) -> Response:
    return Response(FileImportSerializer(file_import_for(person_asking(request), slug, job_id)).data)


@api.put(
    "import_answer",
    "Say what the files do not",
    {202: FileImportSerializer},
    description="In place of all earlier answers. The files are looked through again.",
    request=WishSerializer,
)
def import_answer(request: Request, slug: str, job_id: int) -> Response:
    job = file_import_for(person_asking(request), slug, job_id)
    sent = validated_data(WishSerializer, request, context={"project": job.project, "by": person_asking(request)})
    return _done(job, lambda: answer(job=job, wish=sent))


@api.delete("import_discard", "Discard a preview and its files")
def import_discard(request: Request, slug: str, job_id: int) -> Response:
    if not discard(file_import_for(person_asking(request), slug, job_id)):
        raise ApiError(409, "import-refused", _("These files are being imported already."))
    return Response(status=204)


@api.post(
    "import_confirm",
    "Import what the preview shows",
    {202: FileImportSerializer},
    description="In the background. Confirming it twice is refused, and imports nothing twice.",
)
def import_confirm(request: Request, slug: str, job_id: int) -> Response:
    job = file_import_for(person_asking(request), slug, job_id)
    return _done(job, lambda: confirm(job=job))


@api.post(
    "import_undo",
    "Undo an import",
    {202: FileImportSerializer},
    description="As a whole, in the background, as long as nothing was made with what it brought.",
)
def import_undo(request: Request, slug: str, job_id: int) -> Response:
    job = file_import_for(person_asking(request), slug, job_id)
    return _done(job, lambda: ask_to_undo(job=job, by=person_asking(request), now=timezone.now()))


def _done(job: ImportJob, step: Callable[[], object]) -> Response:
    with refused_as("import-refused", ImportRefusedError), refused_as("undo-refused", UndoRefusedError):
        step()
    ask_for_stage(job.pk)
    job.refresh_from_db()
    return started(FileImportSerializer(job).data, "import", job.pk)


@api.get(
    "import_report",
    "The report of an import, line by line",
    {(200, "text/csv"): OpenApiTypes.STR},
    is_file=True,
)
def import_report(request: Request, slug: str, job_id: int) -> StreamingHttpResponse:
    job = file_import_for(person_asking(request), slug, job_id)
    writer = csv.writer(EchoWriter())
    return csv_download((writer.writerow(row) for row in report_table(job)), f"import-{job.pk}.csv")


import_list_or_start = one_address(import_list, import_start)
import_show_answer_or_discard = one_address(import_show, import_answer, import_discard)
