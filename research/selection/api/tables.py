"""Where languages are spoken: the table that counts for a project, a new version of it, and the first one again."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations, one_address
from core.people.api.problems import ApiError, explain
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.models import Project, Role
from core.people.permissions import READERS, project_for
from research.selection.rules.tables import TableError, shipped_table
from research.selection.selectors.tables import checked_table, table_of
from research.selection.services.tables import TableChangedError, replace_table

api = ApiOperations("language table")
explain(
    {
        "language-table-changed": "The table is another one than expected by now. Read it again.",
        "language-table-invalid": "The table has languages, codes or lists that cannot be; errors says which.",
    }
)


@extend_schema_field(OpenApiTypes.OBJECT)
class AreasField(serializers.JSONField):
    """Lists of codes by language tag."""


class TableSerializer(serializers.Serializer[Any]):
    version = serializers.CharField(help_text="The same version has the same places.")
    areas = AreasField(help_text="By language tag: lists region, country and continent of codes, and maybe reasons.")


class NewTableSerializer(serializers.Serializer[Any]):
    areas = AreasField(help_text="The whole table, as GET returns it.")
    note = serializers.CharField(max_length=2000, allow_blank=True, default="", help_text="What changed and why.")
    expected = serializers.CharField(
        max_length=80, allow_blank=True, default="", help_text="Refuse if the table is another version than this one."
    )


@api.get("language_table", "Where languages are spoken", TableSerializer)
def language_table_show(request: Request, slug: str) -> Response:
    return _answer(project_for(person_asking(request), slug, *READERS))


@api.put("language_table_replace", "Replace where languages are spoken", TableSerializer, request=NewTableSerializer)
def language_table_replace(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    sent = validated_data(NewTableSerializer, request)
    about = {name: sent[name] for name in ("note", "expected")}
    try:
        table = checked_table(sent["areas"])
        replace_table(project=project, table=table, by=person_asking(request), now=timezone.now(), **about)
    except TableChangedError as error:
        raise ApiError(409, "language-table-changed", str(error)) from None
    except TableError as error:
        raise ApiError(409, "language-table-invalid", str(error), {"areas": error.problems}) from None
    return _answer(project)


@api.delete("language_table_reset", "Use the table of where languages are spoken that Crosslens comes with")
def language_table_reset(request: Request, slug: str) -> Response:
    project, by = project_for(person_asking(request), slug, Role.MANAGER), person_asking(request)
    replace_table(project=project, table=shipped_table(), note="", expected="", by=by, now=timezone.now())
    return Response(status=204)


def _answer(project: Project) -> Response:
    table = table_of(project)
    return Response({"version": table.version, "areas": table.as_entries()})


language_table_show_or_change = one_address(language_table_show, language_table_replace, language_table_reset)
