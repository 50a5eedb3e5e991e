"""What a request may send: parameters and fields that an operation lacks are refused, and the valid ones named."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from django.core.validators import ProhibitNullCharactersValidator
from django.db.models import BigIntegerField, Model, QuerySet
from django.forms import BaseForm
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from crosslens_metrics.language_tags import MalformedTagError, canonical_tag

Row = TypeVar("Row", bound=Model)

MAX_ID = BigIntegerField.MAX_BIGINT
MAX_LISTED = 100
"""(ours) Of the choices of a field, in an error."""


def check_parameters(request: Request, parameters: Iterable[OpenApiParameter]) -> None:
    """Raises rest_framework.serializers.ValidationError: a parameter is not one of the operation's, or not one of its
    choices, has a null character, or comes several times where one counts.
    """
    known = {one.name: one for one in parameters if one.location == OpenApiParameter.QUERY}
    errors = _unknown(request.query_params, known)
    for name, values in request.query_params.lists():
        if name in known and len(values) > 1 and not known[name].many:
            errors[name] = [_("Give it once.")]
            continue
        choices = known[name].enum if name in known else None
        if choices and any(value and value not in choices for value in values):
            errors[name] = [valid_values(choices)]
        elif any("\0" in value for value in values):
            errors[name] = [str(ProhibitNullCharactersValidator.message)]
    if errors:
        raise serializers.ValidationError(errors)


def asked_language(request: Request, known: Iterable[str]) -> str | None:
    """Read the parameter `language`, in any spelling; None if it is not sent.

    Raises rest_framework.serializers.ValidationError: it is not one of `known`; these are listed.
    """
    asked = request.query_params.get("language")
    if not asked:
        return None
    tags = sorted(set(known))
    with suppress(MalformedTagError):
        if (tag := canonical_tag(asked)) in tags:
            return tag
    raise serializers.ValidationError({"language": [valid_values(tags) if tags else _("There are none yet.")]})


def asked_id(request: Request, name: str, problem: str) -> int | None:
    """Read the parameter `name`, the ID of a row; None if it is not sent.

    Raises rest_framework.serializers.ValidationError with the `problem`.
    """
    asked = request.query_params.get(name)
    if not asked:
        return None
    if asked.isascii() and asked.isdecimal() and len(asked) <= len(str(MAX_ID)) and 1 <= int(asked) <= MAX_ID:
        return int(asked)
    raise serializers.ValidationError({name: [problem]})


def asked_row(request: Request, name: str, among: QuerySet[Row], *, by: str) -> Row | None:
    """Read the parameter `name`, which is the field `by` of one of `among`; None if it is not sent.

    Raises rest_framework.serializers.ValidationError: it is of none of them; these are listed, unless there are many.
    """
    asked = request.query_params.get(name)
    if not asked:
        return None
    values = [str(value) for value in among.order_by(by).values_list(by, flat=True)]
    if asked in values:
        return among.get(**{by: asked})
    is_short = 0 < len(values) <= MAX_LISTED
    none = _("There is no such choice. Choose one of the list.") if values else _("There are none yet.")
    raise serializers.ValidationError({name: [valid_values(values) if is_short else none]})


def validated_data(
    shape: type[serializers.Serializer[Any]], request: Request, context: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Read what was sent, in `shape`.

    Raises rest_framework.serializers.ValidationError also where a field is not one of the shape's. Errors about choices
    list the valid values.
    """
    sent = shape(data=request.data, context=dict(context or {}))
    if isinstance(request.data, Mapping) and (errors := _unknown(request.data, sent.get_fields())):
        raise serializers.ValidationError(errors)
    if sent.is_valid():
        return dict(sent.validated_data)
    found: dict[str, Any] = dict(sent.errors)
    for name in found:
        field: Any = sent.get_fields().get(name)
        choices = getattr(getattr(field, "child", field), "choices", None)
        if choices and "invalid_choice" in str(_codes(found[name])):
            found[name] = [*_sentences(found[name]), valid_values(choices)]
    raise serializers.ValidationError(found)


def _codes(reasons: Any) -> list[str]:
    several = reasons.values() if isinstance(reasons, dict) else reasons
    return [getattr(one, "code", "") if isinstance(one, str) else str(_codes(one)) for one in several]


def _sentences(reasons: Any) -> list[str]:
    several = reasons.values() if isinstance(reasons, dict) else reasons
    return [sentence for one in several for sentence in ([one] if isinstance(one, str) else _sentences(one))]


def check_form(form: BaseForm) -> None:
    """Validate what was sent by the form of a page.

    Raises rest_framework.serializers.ValidationError.
    """
    if not form.is_valid():
        raise serializers.ValidationError(
            {name: [*reasons, *_choices_of(form, name)] for name, reasons in form.errors.items()}
        )


def _choices_of(form: BaseForm, name: str) -> list[str]:
    """The valid values of a field, where another was chosen and there are few."""
    choices: Any = getattr(form.fields.get(name), "choices", ())
    values = [str(value) for value, label in choices if value and not isinstance(label, list | tuple)]
    is_wrong = any(error.code == "invalid_choice" for error in form.errors[name].as_data())
    return [valid_values(values)] if is_wrong and 0 < len(values) <= MAX_LISTED else []


def _unknown(sent: Iterable[str], known: Collection[str]) -> dict[str, list[str]]:
    why = (
        _("There is no such name here. Valid names: %(names)s.") % {"names": ", ".join(known)}
        if known
        else _("There is no such name here.")
    )
    # Forms send the parts of a field as `map.image` and `files[0]`.
    return {name: [why] for name in sent if re.split(r"[.\[]", name)[0] not in known}


def valid_values(choices: Iterable[Any]) -> str:
    return _("Valid values: %(values)s.") % {"values": ", ".join(map(str, choices))}
