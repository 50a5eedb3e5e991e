"""Make views of the API from functions, each described for the schema by its decorator."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from core.people.api.pagination import PARAMETERS, page_schema
from core.people.api.problems import ApiError
from core.people.permissions import is_in_archived

View = Callable[..., HttpResponseBase]
Decorator = Callable[[View], View]


class AnyForm(BaseContentNegotiation):
    """For files, which have one form whatever Accept says; refusals are JSON."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return JSONRenderer(), JSONRenderer.media_type


class ApiOperations:
    """Decorators that make views of the API from functions, all with one tag in the schema."""

    def __init__(self, tag: str) -> None:
        self.tag = tag

    def get(self, id: str, summary: str, responses: Any, **about: Any) -> Decorator:
        return self._made("get", id, summary, responses, **about)

    def list(
        self, id: str, summary: str, name: str, row: type[BaseSerializer[Any]], *, parameters: Any = (), **about: Any
    ) -> Decorator:
        """Pages of rows; `name` is of the shape of a page."""
        about["parameters"] = [*PARAMETERS, *parameters]
        return self._made("get", id, summary, page_schema(name, row), **about)

    def post(self, id: str, summary: str, responses: Any, **about: Any) -> Decorator:
        return self._made("post", id, summary, responses, **({"request": None} | about))

    def put(self, id: str, summary: str, responses: Any, **about: Any) -> Decorator:
        return self._made("put", id, summary, responses, **about)

    def delete(self, id: str, summary: str, **about: Any) -> Decorator:
        return self._made("delete", id, summary, {204: None}, **({"request": None} | about))

    def _made(
        self, method: str, id: str, summary: str, responses: Any, *, is_file: bool = False, **about: Any
    ) -> Decorator:
        described = extend_schema(operation_id=id, summary=summary, responses=responses, tags=[self.tag], **about)

        def made(view: View) -> View:
            @wraps(view)
            def handler(_self: APIView, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
                if method != "get" and is_in_archived(request.user, kwargs.get("slug", "")):
                    raise ApiError(409, "archived", gettext("This project is archived and cannot be changed."))
                return view(request, *args, **kwargs)

            members: dict[str, Any] = {method: described(handler)}
            if is_file:
                members["content_negotiation_class"] = AnyForm
            return type(view.__name__, (APIView,), members).as_view()  # type: ignore[attr-defined]

        return made


def one_address(*views: Any) -> View:
    """Make one view of the operations of one address, which differ by method."""
    return type("Operations", tuple(view.cls for view in views), {}).as_view()  # type: ignore[attr-defined]
