"""Save what is registered: models, translators and encoders, each under a name of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Required, TypedDict, TypeVar

from django.db import IntegrityError, transaction

from core.people.models import Project
from core.people.services.ownership import is_name_taken
from research.inference.backends.captioners import BackendSettingsError
from research.inference.models import CaptioningModel, RegisteredModel, Translator

Row = TypeVar("Row", bound=RegisteredModel)


class _NamedFields(TypedDict, total=False):
    name: Required[str]
    description: str
    project: Project | None
    is_shared: bool


class ModelRegistration(_NamedFields, total=False):
    """The details of a model, translator or encoder."""

    backend: Required[str]
    source: str
    options: Mapping[str, Any]


class TranslatedRegistration(_NamedFields):
    """The details of a model that translates another's English captions."""

    english_model: CaptioningModel
    translator: Translator


def save_new(row: Row, *, name_taken: BackendSettingsError) -> Row:
    """
    Raises
    ------
    BackendSettingsError
        `name_taken`, where what is used beside `row` has its name.
    """
    # What is shared with all may be used beside what is one's own, and goes by its name, too.
    if is_name_taken(row):
        raise name_taken
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise name_taken from error
    return row
