"""What a request may send: parameters and fields that an operation lacks are refused, and the valid ones named."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request


def check_parameters(request: Request, parameters: Iterable[OpenApiParameter]) -> None:
    """
    Raises
    ------
    rest_framework.serializers.ValidationError
        A parameter is not one of the operation's, or not one of its choices.
    """
    known = {one.name: one for one in parameters if one.location == OpenApiParameter.QUERY}
    errors = _unknown(request.query_params, known)
    for name, values in request.query_params.lists():
        choices = known[name].enum if name in known else None
        if choices and any(value and value not in choices for value in values):
            errors[name] = [_valid_values(choices)]
    if errors:
        raise serializers.ValidationError(errors)


def check_fields(request: Request, shape: type[serializers.Serializer[Any]]) -> None:
    """
    Raises
    ------
    rest_framework.serializers.ValidationError
        A field is not one of the shape's.
    """
    if isinstance(request.data, Mapping) and (errors := _unknown(request.data, shape().get_fields())):
        raise serializers.ValidationError(errors)


def with_choices(
    error: serializers.ValidationError, shape: type[serializers.Serializer[Any]]
) -> serializers.ValidationError:
    """Add the valid values to errors about fields that have choices."""
    if not isinstance(error.detail, dict):
        return error
    fields = shape().get_fields()
    errors: dict[str, Any] = dict(error.detail)
    for name, reasons in errors.items():
        field: Any = fields.get(name)
        choices = getattr(getattr(field, "child", field), "choices", None)
        if choices and "invalid_choice" in str(error.get_codes().get(name)):  # type: ignore[union-attr]
            errors[name] = [*(reasons if isinstance(reasons, list) else ()), _valid_values(choices)]
    return serializers.ValidationError(errors)


def _unknown(sent: Iterable[str], known: Collection[str]) -> dict[str, list[str]]:
    why = (
        _("There is no such name here. Valid names: %(names)s.") % {"names": ", ".join(known)}
        if known
        else _("There is no such name here.")
    )
    return {name: [why] for name in sent if name not in known}


def _valid_values(choices: Iterable[Any]) -> str:
    return _("Valid values: %(values)s.") % {"values": ", ".join(map(str, choices))}
