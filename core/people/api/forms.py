"""Pages' forms as what operations take: the same fields, limits, first values and refusals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from django import forms
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from core.people.api.requested import check_form, validated_data

Shape = type[serializers.Serializer[Any]]
Field = serializers.Field[Any, Any, Any, Any]
MAX_INTEGER = 2**31 - 1
AnyForm = TypeVar("AnyForm", bound=forms.BaseForm)


def form_shape(
    name: str,
    form: type[forms.BaseForm],
    /,
    *,
    omit: Collection[str] = (),
    filled: Collection[str] | None = (),
    **more: Field,
) -> Shape:
    """Make the shape of the fields of `form`, and of `more`, which only the operation has.

    A field is not required if the page fills it in: by its own first value, or as one of `filled`, where None is for
    all. `filled_form` fills it in here.
    """
    declared = {
        field_name: _field(field, is_filled=filled is None or field_name in filled)
        for field_name, field in form.base_fields.items()  # type: ignore[attr-defined]
        if field_name not in omit
    }
    return type(f"{name}Serializer", (serializers.Serializer,), declared | more)


def filled_form(make: Callable[..., AnyForm], sent: Mapping[str, Any]) -> AnyForm:
    """Make a form by what was sent and, for all else, what the page would fill in.

    Raises rest_framework.serializers.ValidationError.
    """
    unsent = make(None)
    if elsewhere := sorted(set(sent) - set(unsent.fields)):
        raise serializers.ValidationError({name: [_("This cannot be set here.")] for name in elsewhere})
    first = {name: unsent[name].value() for name in unsent.fields}
    values = {name: value for name, value in first.items() if value is not None} | dict(sent)
    form = make({unsent.add_prefix(name): value for name, value in values.items()})
    check_form(form)
    return form


def sent_form(request: Request, shape: Shape, make: Callable[..., AnyForm]) -> AnyForm:
    """Raises rest_framework.serializers.ValidationError."""
    return filled_form(make, validated_data(shape, request))


def form_parameters(
    form: type[forms.BaseForm], /, *, omit: Collection[str] = (), **said: str
) -> list[OpenApiParameter]:
    """Make the parameters of a list from the form of filters on its page.

    `said` describes fields that need more than their label.
    """
    return [
        _parameter(name, field, said.get(name) or str(field.label))
        for name, field in form.base_fields.items()  # type: ignore[attr-defined]
        if name not in omit
    ]


def _parameter(name: str, field: forms.Field, said: str) -> OpenApiParameter:
    if isinstance(field, forms.BooleanField):
        return OpenApiParameter(name, str, enum=["yes"], description=said)
    choices = [str(value) for value, _label in getattr(field, "choices", ()) if value != ""]
    return OpenApiParameter(name, str, enum=choices or None, description=said, required=field.required)


def _field(field: forms.Field, *, is_filled: bool) -> Field:
    is_filled |= field.initial is not None or not field.required or isinstance(field, forms.BooleanField)
    about: dict[str, Any] = {"required": not is_filled, "help_text": str(field.help_text)}
    if isinstance(field, forms.BooleanField):
        return serializers.BooleanField(**about)
    if isinstance(field, forms.MultipleChoiceField | forms.ModelMultipleChoiceField):
        return serializers.ListField(child=serializers.CharField(), **about)
    if isinstance(field, forms.TypedChoiceField):
        return serializers.IntegerField(**about)
    if isinstance(field, forms.ChoiceField) and not isinstance(field, forms.ModelChoiceField):
        choices: Any = field.choices
        return serializers.ChoiceField(choices, allow_blank=not field.required, **about)
    if isinstance(field, forms.IntegerField):
        about |= {"allow_null": not field.required, "min_value": field.min_value}
        about["max_value"] = MAX_INTEGER if field.max_value is None else field.max_value
        is_whole = not isinstance(field, forms.DecimalField | forms.FloatField)
        return serializers.IntegerField(**about) if is_whole else serializers.FloatField(**about)
    longest = getattr(field, "max_length", None)
    return serializers.CharField(allow_blank=not field.required, max_length=longest, **about)
