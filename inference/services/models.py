"""Registering models and translators. Nothing is loaded: only what is written down is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from inference.backends import registry
from inference.backends.captioners import BackendRefused, Spec
from inference.models import TRANSLATED, CaptioningModel, Translator
from people.models import User

Row = TypeVar("Row", CaptioningModel, Translator)


def register_model(
    *,
    name: str,
    backend: str,
    source: str = "",
    options: Mapping[str, Any] | None = None,
    is_pivot: bool = False,
    description: str = "",
    by: User | None,
) -> CaptioningModel:
    """A model that runs may name.

    Raises
    ------
    BackendRefused
        Where the name is taken, there is no such backend, or it does not take the source or an option.
    """
    spec = Spec(name, source, dict(options or {}), is_pivot)
    found = registry.backend_named(backend)
    found.check(spec)
    if not found.languages(spec):
        raise BackendRefused(_("As it is given, it can write no language. Say which it writes."))
    return _kept(
        CaptioningModel(
            name=name,
            backend=backend,
            source=source,
            options=dict(spec.options),
            is_pivot=is_pivot,
            description=description,
            created_by=by,
        )
    )


def register_translated_model(
    *, name: str, english_model: CaptioningModel, translator: Translator, description: str = "", by: User | None
) -> CaptioningModel:
    """A model whose captions are the English ones of another, translated by a machine.

    Raises
    ------
    BackendRefused
    """
    if english_model.english_model_id is not None:
        raise BackendRefused(_("“%(name)s” is a translation itself.") % {"name": english_model.name})
    return _kept(
        CaptioningModel(
            name=name,
            backend=TRANSLATED,
            english_model=english_model,
            translator=translator,
            description=description,
            created_by=by,
        )
    )


def register_translator(
    *,
    name: str,
    backend: str,
    source: str = "",
    options: Mapping[str, Any] | None = None,
    description: str = "",
    by: User | None,
) -> Translator:
    """
    Raises
    ------
    BackendRefused
    """
    spec = Spec(name, source, dict(options or {}))
    found = registry.translator_named(backend)
    found.check(spec)
    if not found.languages(spec):
        raise BackendRefused(_("As it is given, it translates into no language. Say which it knows."))
    return _kept(
        Translator(
            name=name,
            backend=backend,
            source=source,
            options=dict(spec.options),
            description=description,
            created_by=by,
        )
    )


def _kept(row: Row) -> Row:
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise BackendRefused(_("The name “%(name)s” is taken already.") % {"name": row.name}) from error
    return row
