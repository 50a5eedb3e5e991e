"""Make views of the API from functions, and describe them in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from core.people.api.answers import MEDIA_TYPE, STATUSES
from core.people.api.authentication import SCHEME
from core.people.api.keys import KEY, keyed
from core.people.api.pagination import PARAMETERS, page_schema
from core.people.api.problems import ApiError
from core.people.api.requested import check_parameters
from core.people.permissions import ManagersOnlyError, is_in_archived

View = Callable[..., HttpResponseBase]
Decorator = Callable[[View], View]


JOB = OpenApiParameter(
    "Location",
    str,
    OpenApiParameter.HEADER,
    required=True,
    response=[202],
    description="The address of the job: poll it until its state is done, failed or cancelled.",
)


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

    def patch(self, id: str, summary: str, responses: Any, **about: Any) -> Decorator:
        """Change some fields; those that are not sent stay as they are."""
        return self._made("patch", id, summary, responses, **about)

    def delete(self, id: str, summary: str, **about: Any) -> Decorator:
        return self._made("delete", id, summary, {204: None}, **({"request": None} | about))

    def _made(
        self,
        method: str,
        id: str,
        summary: str,
        responses: Any,
        *,
        is_file: bool = False,
        receive: Callable[..., None] | None = None,
        has_key: bool = True,
        secrets: Collection[str] = (),
        is_for_archived: bool = False,
        **about: Any,
    ) -> Decorator:
        """Make a view of one method.

        `receive` first checks that the person may send files, and then reads them. It is called before `view`.

        With `has_key`, a POST takes an Idempotency-Key, and its answer is kept for a day, without the values of
        fields named in `secrets`. Operations that can be repeated have no key.

        Operations with `is_for_archived` may change archived projects.
        """
        parameters = about.get("parameters", ())
        has_key = has_key and method == "post"
        if has_key:
            about["parameters"] = parameters = [*parameters, KEY]
        if isinstance(responses, dict) and 202 in responses:
            about["parameters"] = [*parameters, JOB]
        described = extend_schema(operation_id=id, summary=summary, responses=responses, tags=[self.tag], **about)

        def made(view: View) -> View:
            @wraps(view)
            @refusals_explained(is_write=method != "get")
            def handler(_self: APIView, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
                if method != "get" and not is_for_archived and is_in_archived(request.user, _project(request)):
                    raise ApiError(409, "archived", gettext("This project is archived and cannot be changed."))
                check_parameters(request, parameters)
                if receive is not None:
                    receive(request, *args, **kwargs)
                if not has_key:
                    return view(request, *args, **kwargs)
                return keyed(request, lambda: view(request, *args, **kwargs), secrets=secrets)

            members: dict[str, Any] = {method: described(handler)}
            if is_file:
                members["content_negotiation_class"] = AnyForm
            if receive is not None:
                members["parser_classes"] = [MultiPartParser]
            return type(view.__name__, (APIView,), members).as_view()  # type: ignore[attr-defined]

        return made


@contextmanager
def refusals_explained(*, is_write: bool) -> Iterator[None]:
    """Say to researchers that they may not do something, instead of that it is not there."""
    try:
        yield
    except ManagersOnlyError as refusal:
        if not is_write:
            raise
        raise PermissionDenied(str(refusal)) from refusal


def _project(request: Request) -> str:
    """The slug in an address of a project."""
    match = request.resolver_match
    return match.kwargs["slug"] if match is not None and "projects/<slug:slug>/" in match.route else ""


def one_address(*views: Any) -> View:
    """Make one view of the operations of one address, which differ by method."""
    return type("Operations", tuple(view.cls for view in views), {}).as_view()  # type: ignore[attr-defined]


PROBLEM = "#/components/schemas/Problem"
EVERYWHERE = (400, 401, 403, 404, 406, 409, 422, 429)
WITH_A_BODY = (410, 415)
METHODS = ("get", "put", "post", "patch", "delete")


class SchemaView(SpectacularAPIView):
    """The schema as drf-spectacular makes it, for anybody."""

    permission_classes = [AllowAny]  # noqa: RUF012


class TokenScheme(OpenApiAuthenticationExtension):
    """The name of tokens in the schema; drf-spectacular finds it once this module is imported."""

    target_class = "core.people.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": SCHEME, "description": "A token of /profile/tokens/."}


def add_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Add the responses for refusals, all in one shape, to each operation (a hook of drf-spectacular)."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = PROBLEM_SCHEMA
    components["responses"] = {
        f"Problem{status}": {"description": title, "content": {MEDIA_TYPE: {"schema": {"$ref": PROBLEM}}}}
        for status, (title, _code) in STATUSES.items()
    }
    for operations in result["paths"].values():
        for method, operation in operations.items():
            if method in METHODS:
                for status in EVERYWHERE if method == "get" else (*EVERYWHERE, *WITH_A_BODY):
                    answer = {"$ref": f"#/components/responses/Problem{status}"}
                    operation["responses"].setdefault(str(status), answer)
                for content in operation.get("requestBody", {}).get("content", {}).values():
                    # Unknown fields are refused.
                    name = content["schema"].get("$ref", "").rpartition("/")[2]
                    components["schemas"].get(name, {})["additionalProperties"] = False
    return result


PROBLEM_SCHEMA = {
    "type": "object",
    "description": "A refusal, as RFC 9457 has it.",
    "properties": {
        "type": {"type": "string", "description": "Where the code is explained."},
        "title": {"type": "string", "description": "The kind of refusal, in English."},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Which refusal it is; stays the same."},
        "detail": {"type": "string", "description": "Why and what to do, in the language of Accept-Language."},
        "errors": {
            "type": "object",
            "description": "What is wrong with each field, or each thing that is missing.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
    "required": ["type", "title", "status", "code", "detail", "errors"],
}
