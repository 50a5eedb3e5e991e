"""The OpenAPI document: the parts that all operations share."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny

from core.people.api.answers import MEDIA_TYPE, STATUSES
from core.people.api.authentication import SCHEME

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
