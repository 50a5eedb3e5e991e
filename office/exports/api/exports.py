"""The export as programs ask for it."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from core.people.api.operations import ApiOperations
from core.people.api.problems import ApiError, explain, refused_as
from core.people.api.requested import check_form
from core.people.api.views import person_asking
from core.people.permissions import READERS, project_for
from core.people.requests import as_download
from gapgame.formats.turn_files import SeasonNotClosedError
from office.dashboard.api.images import FILTERS as IMAGE_FILTERS
from office.exports.forms import CLOSED, FORMATS, WHATS, ExportForm
from office.exports.selectors.tables import ExportError
from office.exports.services.exports import TYPES, export_for
from research.selection.api.subsets import IMAGES, asked_filter, image_filter_refusals

api = ApiOperations("projects")
explain({"export-refused": "There is nothing to export so; detail says why and what there is."})


@api.get(
    "export_show",
    "A table of the project as a file",
    {(200, type.partition(";")[0]): OpenApiTypes.BINARY for type in TYPES.values()},
    description="The same file as on the page Export. See docs/formats.md for tables, formats and filters. A "
    "new release is made by `POST projects/{slug}/releases/`, which answers with a job.",
    is_file=True,
    parameters=[
        OpenApiParameter("what", str, required=True, enum=list(WHATS), description="What is written."),
        OpenApiParameter("format", str, required=True, enum=list(FORMATS), description="Format of the file."),
        OpenApiParameter("language", str, many=True, description="Only these languages, by tag."),
        IMAGES,
        OpenApiParameter("comparison", int, description="Only judgements of this comparison."),
        OpenApiParameter("season", str, description="The season whose turns are written."),
        OpenApiParameter("release", int, description="The number of a release; without it, the newest."),
        *(filter for filter in IMAGE_FILTERS if filter.name != "language"),
        OpenApiParameter("name", str, description="Only hours and cost of people whose name contains this."),
    ],
)
def export_show(request: Request, slug: str) -> StreamingHttpResponse:
    by = person_asking(request)
    project = project_for(by, slug, *READERS)
    asked_filter(request, project)
    form = ExportForm(request.query_params, project=project, by=by)
    if form.has_error("what", CLOSED):
        raise ApiError(409, CLOSED, form.errors["what"][0])
    for name in ("comparison", "season", "release"):
        if form.has_error(name, "invalid_choice"):
            raise ApiError(409, "export-refused", form.errors[name][0], {name: [*form.errors[name]]})
    check_form(form)
    with refused_as("export-refused", ExportError, SeasonNotClosedError), image_filter_refusals():
        file = export_for(form.wish(until=timezone.now()), by=by, is_recorded=request.method == "GET")
    return as_download(StreamingHttpResponse(file.pieces, content_type=file.content_type), file.name)
