"""Cursor pagination, in which every page is as quick as the first: nothing is counted.

A list is a sequence of parts, such as the rounds of a project, each ordered by columns that an index has. So a page is
the beginning of a range of one index, however large the table and however deep the page.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema_serializer, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.problems import ALL_CODES, ApiError

DEFAULT_LIMIT, MAX_LIMIT = 100, 1000
MAX_NUMBER = 2**63 - 1
assert "bad-cursor" in ALL_CODES

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class ListPart(Generic[Row]):
    """A part of the list: in the order of `key`, then of its rows."""

    key: int
    rows: QuerySet[Row]


PARAMETERS = [
    OpenApiParameter("cursor", str, description="Where to continue: from `next` of the previous page."),
    OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        description="The most entries to return.",
    ),
]


def page_schema(name: str, row: type[serializers.BaseSerializer[Any]]) -> type[serializers.Serializer[Any]]:
    """The schema of a page of `row`."""
    made = inline_serializer(
        name,
        {
            "next": serializers.CharField(allow_null=True, help_text="The address of the next page; null at the end."),
            "results": row(many=True),
        },
    )
    return extend_schema_serializer(many=False)(type(made))


def page(
    request: Request,
    parts: Iterable[ListPart[Row]],
    *,
    order: Sequence[str],
    show: Callable[[Sequence[Row]], Any],
) -> Response:
    """Answer with a page of `parts`, in the order of their keys; `order` names integer columns, unique together.

    Raises ApiError where cursor or limit are not what they may be.
    """
    limit, (from_part, after) = _limit(request), _cursor(request, len(order))
    keyed_rows: list[tuple[int, Row]] = []
    for part in parts:
        if part.key < from_part or len(keyed_rows) > limit:
            continue
        rows = part.rows.order_by(*order)
        if part.key == from_part and after is not None:
            rows = rows.filter(rows_after(order, after))
        keyed_rows += [(part.key, row) for row in rows[: limit + 1 - len(keyed_rows)]]
    following = None
    if len(keyed_rows) > limit:
        keyed_rows = keyed_rows[:limit]
        key, last = keyed_rows[-1]
        following = _address(request, [key, *(_value(last, name) for name in order)])
    answer = Response({"next": following, "results": show([row for _key, row in keyed_rows])})
    if following is not None:
        answer["Link"] = f'<{following}>; rel="next"'
    return answer


def many_shown(shape: type[serializers.BaseSerializer[Any]]) -> Callable[[Sequence[Model]], Any]:
    """Show rows in `shape`."""
    return lambda rows: shape(rows, many=True).data


def rows_after(order: Sequence[str], after: Sequence[int]) -> Q:
    """Return rows after `after`. The first column also gets a bound of its own, which an index can use."""
    name, value = order[0], after[0]
    if len(order) == 1:
        return Q(**{f"{name}__gt": value})
    return Q(**{f"{name}__gte": value}) & (Q(**{f"{name}__gt": value}) | rows_after(order[1:], after[1:]))


def _value(row: Model, name: str) -> int:
    value: Any = row
    for part in name.split("__"):
        value = getattr(value, part)
    return int(value)


def _limit(request: Request) -> int:
    parameter = request.query_params.get("limit", str(DEFAULT_LIMIT))
    number = int(parameter) if parameter.isascii() and parameter.isdecimal() and len(parameter) < 6 else 0
    if not 1 <= number <= MAX_LIMIT:
        why = _("Enter a whole number from 1 to %(most)s.") % {"most": MAX_LIMIT}
        raise serializers.ValidationError({"limit": [why]})
    return number


def _cursor(request: Request, columns: int) -> tuple[int, list[int] | None]:
    parameter = request.query_params.get("cursor")
    if not parameter:
        return -MAX_NUMBER, None
    try:
        values = json.loads(base64.b64decode(parameter, altchars=b"-_", validate=True))
    except (ValueError, RecursionError, binascii.Error):
        values = None
    is_ours = isinstance(values, list) and len(values) == columns + 1
    if not is_ours or not all(type(value) is int and abs(value) <= MAX_NUMBER for value in values):
        raise ApiError(400, "bad-cursor", _("This cursor does not come from this address. Start again without one."))
    return values[0], values[1:]


def _address(request: Request, values: Sequence[int]) -> str:
    query = request.query_params.copy()
    query["cursor"] = base64.urlsafe_b64encode(json.dumps(values, separators=(",", ":")).encode()).decode()
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
