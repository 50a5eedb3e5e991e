"""Register models and translators. Nothing is loaded: only the settings are checked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from inference.backends import registry
from inference.backends.captioners import BackendSettingsError, Spec
from inference.models import TRANSLATED, CaptioningModel, Translator
from people.models import Project, User
from people.services.ownership import change_owner, check_parts, is_name_taken

Row = TypeVar("Row", CaptioningModel, Translator)


def register_model(
    *,
    name: str,
    backend: str,
    source: str = "",
    options: Mapping[str, Any] | None = None,
    is_pivot: bool = False,
    description: str = "",
    project: Project | None = None,
    is_shared: bool = False,
    by: User | None,
) -> CaptioningModel:
    """Register a model for runs.

    Raises
    ------
    BackendSettingsError
        Where the name is taken, there is no such backend, or it does not take the source or an option.
    """
    spec = Spec(name, source, dict(options or {}), is_pivot)
    kind = registry.backend_named(backend)
    kind.check(spec)
    if not kind.languages(spec):
        raise BackendSettingsError(_("It cannot write any language as set up here. Say which languages it writes."))
    return _saved(
        CaptioningModel(
            name=name,
            backend=backend,
            source=source,
            options=dict(spec.options),
            is_pivot=is_pivot,
            description=description,
            project=project,
            is_shared=is_shared,
            created_by=by,
        )
    )


def register_translated_model(
    *,
    name: str,
    english_model: CaptioningModel,
    translator: Translator,
    description: str = "",
    project: Project | None = None,
    is_shared: bool = False,
    by: User | None,
) -> CaptioningModel:
    """Register a model whose captions are machine translations of another's English ones.

    Raises
    ------
    BackendSettingsError
    """
    if english_model.english_model_id is not None:
        raise BackendSettingsError(
            _("“%(name)s” is itself a translation. Choose another model.") % {"name": english_model.name}
        )
    return _saved(
        CaptioningModel(
            name=name,
            backend=TRANSLATED,
            english_model=english_model,
            translator=translator,
            description=description,
            project=project,
            is_shared=is_shared,
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
    project: Project | None = None,
    is_shared: bool = False,
    by: User | None,
) -> Translator:
    """
    Raises
    ------
    BackendSettingsError
    """
    spec = Spec(name, source, dict(options or {}))
    kind = registry.translator_named(backend)
    kind.check(spec)
    if not kind.languages(spec):
        raise BackendSettingsError(
            _("It cannot translate into any language as set up here. Say which languages it knows.")
        )
    return _saved(
        Translator(
            name=name,
            backend=backend,
            source=source,
            options=dict(spec.options),
            description=description,
            project=project,
            is_shared=is_shared,
            created_by=by,
        )
    )


def give_model(
    *, model: CaptioningModel, project: Project | None, is_shared: bool, by: User | None, now: datetime
) -> None:
    """Change the owner of a model and its variants.

    Raises
    ------
    people.services.ownership.OwnerRefusedError
        Also where what it translates from or with is not as widely shared.
    """
    check_parts([model.english_model, model.translator], project=project, is_shared=is_shared)
    change_owner(things=model.family(), project=project, is_shared=is_shared, by=by, now=now)


def _saved(row: Row) -> Row:
    taken = BackendSettingsError(_("The name “%(name)s” is already taken. Choose another.") % {"name": row.name})
    # What is shared with all may be used beside what is one's own, and goes by its name, too.
    if is_name_taken(row):
        raise taken
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise taken from error
    return row
