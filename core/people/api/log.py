"""The audit log of a project, for its managers."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.requested import check_form
from core.people.api.views import person_asking
from core.people.forms.projects import LogForm
from core.people.models import AuditEntry, Role
from core.people.permissions import project_for
from core.people.selectors.audit_log import actions_in, entries_of, name_of, sentence_of_entry

api = ApiOperations("projects")


class AuditEntrySerializer(serializers.ModelSerializer[AuditEntry]):
    by = serializers.SerializerMethodField(help_text="A user name, or words for the system or a deleted account.")
    person = serializers.SerializerMethodField(help_text="Whom it is about: a user name; empty for nobody.")
    said = serializers.SerializerMethodField(help_text="The sentence of the page.")
    details = serializers.DictField()

    class Meta:
        model = AuditEntry
        fields = ("number", "at", "by", "action", "about", "person", "details", "said")
        read_only_fields = fields

    def get_by(self, entry: AuditEntry) -> str:
        return name_of(entry.by)

    def get_person(self, entry: AuditEntry) -> str:
        return name_of(entry.person) if entry.person else ""

    def get_said(self, entry: AuditEntry) -> str:
        return sentence_of_entry(entry)


@api.list(
    "log",
    "Who did what in a project, and when",
    "AuditEntryPage",
    AuditEntrySerializer,
    description="The oldest entry first.",
    parameters=[
        OpenApiParameter("action", str, description="Only this action, by its code, such as round.opened."),
        OpenApiParameter("person", str, description="Only what this person did or is concerned by: a user name."),
        OpenApiParameter("since", {"type": "string", "format": "date"}, description="The first day, in UTC."),
        OpenApiParameter("until", {"type": "string", "format": "date"}, description="The last day, in UTC."),
    ],
)
def log_list(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    form = LogForm(request.query_params, project=project, actions=actions_in(project))
    check_form(form)
    rows = entries_of(project, form.wanted())
    return page(request, [ListPart(0, rows)], order=["number"], show=many_shown(AuditEntrySerializer))
