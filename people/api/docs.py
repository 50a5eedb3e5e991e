"""The page that documents the API: built from its own schema, on this server, without third-party scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny

from people.api.problems import ALL_CODES
from people.api.schema import METHODS


@dataclass(frozen=True)
class Field:
    """A parameter, or a field of a request or response; `name` has dots where one is inside another."""

    name: str
    kind: str
    is_required: bool
    description: str


@dataclass(frozen=True)
class Operation:
    """`address` is None if it has parameters, or if opening it would change something."""

    id: str
    method: str
    path: str
    address: str | None
    summary: str
    description: str
    parameters: Sequence[Field]
    sent: Sequence[Field]
    answered: Sequence[Field]
    media_types: Sequence[str]


class SchemaView(SpectacularAPIView):
    """The schema as drf-spectacular makes it, for anybody."""

    permission_classes = [AllowAny]  # noqa: RUF012


@require_safe
@login_required
def docs_show(request: HttpRequest) -> HttpResponse:
    return render(request, "api/docs.html", {"groups": operations(), "codes": sorted(ALL_CODES.items())})


@lru_cache(maxsize=1)
def operations() -> dict[str, list[Operation]]:
    """Group all operations by tag, in the order of the schema."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    by_tag: dict[str, list[Operation]] = {}
    for path, methods in schema["paths"].items():
        for method in METHODS:
            if method in methods:
                operation = methods[method]
                by_tag.setdefault(operation["tags"][0], []).append(_operation(schema, path, method, operation))
    return by_tag


def _operation(schema: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]) -> Operation:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    answer: Mapping[str, Any] = next(
        (answer for status, answer in operation["responses"].items() if status.startswith("2")), {}
    )
    content = answer.get("content", {})
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        address=path if method == "get" and "{" not in path else None,
        summary=operation.get("summary", ""),
        description=operation.get("description", ""),
        parameters=[
            Field(one["name"], _kind(schema, one["schema"]), one.get("required", False), one.get("description", ""))
            for one in operation.get("parameters", [])
        ],
        sent=_fields(schema, body),
        answered=_fields(schema, content.get("application/json", {}).get("schema", {})),
        media_types=list(content),
    )


def _fields(schema: Mapping[str, Any], shape: Mapping[str, Any], before: str = "") -> list[Field]:
    shape = _resolved(schema, shape)
    if shape.get("type") == "array":
        return _fields(schema, shape["items"], before)
    fields = []
    for name, inner in shape.get("properties", {}).items():
        full = f"{before}{name}"
        is_required = name in shape.get("required", [])
        fields.append(Field(full, _kind(schema, inner), is_required, inner.get("description", "")))
        fields += _fields(schema, inner, f"{full}.")
    return fields


def _kind(schema: Mapping[str, Any], shape: Mapping[str, Any]) -> str:
    shape = _resolved(schema, shape)
    if "enum" in shape:
        return " | ".join(str(value) for value in shape["enum"])
    kinds = shape.get("type", "object")
    if kinds == "array":
        return f"list of {_kind(schema, shape['items'])}"
    return " or ".join(kinds) if isinstance(kinds, list) else str(shape.get("format") or kinds)


def _resolved(schema: Mapping[str, Any], shape: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve what `shape` refers to, or the alternatives it lists."""
    for way in ("allOf", "oneOf", "anyOf"):
        if way in shape:
            return _resolved(schema, shape[way][0])
    if "$ref" not in shape:
        return shape
    name = shape["$ref"].rpartition("/")[2]
    return _resolved(schema, schema["components"]["schemas"][name])
