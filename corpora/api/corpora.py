"""List and show corpora, read the reports of their steps, and download what they publish."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, Http404
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpora.models import CorpusBuild, CorpusFile, FileRole, Side, StepState
from corpora.permissions import corpus_for
from corpora.selectors.corpus_pages import CorpusPage, StepRow, builds_of, corpus_page, published_file
from parallel_text.step_names import STEP_NAMES
from people.api.operations import Operations
from people.api.pagination import Part, many, page
from people.api.views import asker
from people.permissions import READERS, project_for

api = Operations("corpora")


class CorpusSerializer(serializers.ModelSerializer[CorpusBuild]):
    files = serializers.IntegerField(source="file_count", help_text="How many.")
    steps = serializers.IntegerField(source="steps_all", help_text="How many.")
    steps_done = serializers.IntegerField()
    steps_going = serializers.IntegerField(help_text="How many run or wait.")
    steps_failed = serializers.IntegerField()

    class Meta:
        model = CorpusBuild
        fields = ("slug", "name", "created_at", "files", "steps", "steps_done", "steps_going", "steps_failed")
        read_only_fields = fields


class CorpusFileSerializer(serializers.ModelSerializer[CorpusFile]):
    role = serializers.ChoiceField(FileRole.choices)
    side = serializers.ChoiceField(Side.choices, allow_blank=True)

    class Meta:
        model = CorpusFile
        fields = ("name", "role", "language", "side", "format", "bytes", "sha256", "added_at")
        read_only_fields = fields


class CorpusStepSerializer(serializers.Serializer[Any]):
    name = serializers.ChoiceField(STEP_NAMES, source="step.name")
    state = serializers.ChoiceField(StepState.choices, source="step.state")
    is_out_of_date = serializers.BooleanField(help_text="Done, but with other files or settings than there are now.")
    chunks = serializers.IntegerField(source="total", help_text="0 before it is planned, and of steps without any.")
    chunks_done = serializers.IntegerField(source="done")
    error = serializers.CharField(source="step.error", allow_blank=True)
    started_at = serializers.DateTimeField(source="step.started_at", allow_null=True)
    finished_at = serializers.DateTimeField(source="step.finished_at", allow_null=True)
    report = serializers.SerializerMethodField(help_text="Address of its report, once it is done.")

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_report(self, row: StepRow) -> str | None:
        return f"{self.context['address']}reports/{row.step.name}/" if row.step.report else None


class PublishedSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    address = serializers.CharField()


class CorpusDetailSerializer(serializers.Serializer[Any]):
    slug = serializers.SlugField(source="build.slug")
    name = serializers.CharField(source="build.name")
    created_at = serializers.DateTimeField(source="build.created_at")
    configuration = serializers.DictField(source="build.configuration", help_text="Settings that were changed.")
    is_built = serializers.BooleanField(help_text="All steps are done and up to date.")
    missing = serializers.ListField(child=serializers.CharField(), help_text="What to add before it can be built.")
    files = CorpusFileSerializer(many=True)
    steps = CorpusStepSerializer(many=True)
    published = serializers.SerializerMethodField(help_text="Files to download.")

    @extend_schema_field(PublishedSerializer(many=True))
    def get_published(self, shown: CorpusPage) -> list[dict[str, str]]:
        return [{"name": name, "address": f"{self.context['address']}files/{name}/"} for name in shown.published]


class ReportSerializer(serializers.Serializer[Any]):
    step = serializers.CharField(help_text="Its name.")
    version = serializers.IntegerField(help_text="Of the step: another one may give another result.")
    fingerprint = serializers.CharField(help_text="Identifies the result by settings, files and earlier steps.")
    settings = serializers.DictField()
    files = serializers.DictField(child=serializers.CharField(), help_text="SHA-256 by name.")
    counts = serializers.DictField()
    tools = serializers.DictField(child=serializers.CharField(), help_text="Versions by name.")
    problems = serializers.ListField(
        child=serializers.DictField(), help_text="By kind: how many lines were left out, and the first of them."
    )
    seconds = serializers.FloatField()


@api.list("corpora", "The corpora of a project", "CorpusPage", CorpusSerializer)
def corpus_list(request: Request, slug: str) -> Response:
    rows = builds_of(project_for(asker(request), slug, *READERS))
    return page(request, [Part(0, rows)], order=["pk"], show=many(CorpusSerializer))


@api.get("corpus", "A corpus, its files and its steps", CorpusDetailSerializer)
def corpus_show(request: Request, slug: str, corpus_slug: str) -> Response:
    shown = corpus_page(corpus_for(asker(request), slug, corpus_slug))
    return Response(CorpusDetailSerializer(shown, context={"address": request.path}).data)


@api.get("corpus_report", "What a step of a corpus counted and left out, and with which tools", ReportSerializer)
def corpus_report(request: Request, slug: str, corpus_slug: str, step: str) -> Response:
    row = corpus_for(asker(request), slug, corpus_slug).steps.filter(name=step).first()
    if row is None or not row.report:
        raise Http404(_("There is no such step, or it has no report yet."))
    return Response(ReportSerializer(row.report).data)


@api.get(
    "corpus_file",
    "A published file of a corpus",
    {(200, "application/octet-stream"): OpenApiTypes.BINARY},
    is_file=True,
)
def corpus_file(request: Request, slug: str, corpus_slug: str, name: str) -> FileResponse:
    build = corpus_for(asker(request), slug, corpus_slug)
    file = published_file(build, name)
    if file is None:
        raise Http404(_("There is no such file of this corpus."))
    answer = FileResponse(
        file, filename=f"{build.slug}-{name}", as_attachment=True, content_type="application/octet-stream"
    )
    answer["X-Content-Type-Options"] = "nosniff"
    return answer
