"""Register models and translators. Nothing is loaded: only the settings are checked."""

from __future__ import annotations

from datetime import datetime
from typing import Unpack

from django.utils.translation import gettext as _

from inference.backends import registry
from inference.backends.captioners import BackendSettingsError
from inference.models import TRANSLATED, CaptioningModel, Translator
from inference.services.registration import Registration, Row, TranslatedRegistration, save_new, spec_in
from people.models import Project, User
from people.services.ownership import change_owner, check_parts


def register_model(*, is_pivot: bool = False, by: User | None, **about: Unpack[Registration]) -> CaptioningModel:
    """Register a model for runs.

    Raises
    ------
    BackendSettingsError
        Where the name is taken, there is no such backend, or it does not take the source or an option.
    """
    spec = spec_in(about, is_pivot=is_pivot)
    kind = registry.backend_named(about["backend"])
    kind.check(spec)
    if not kind.languages(spec):
        raise BackendSettingsError(_("It cannot write any language as set up here. Say which languages it writes."))
    return _saved(CaptioningModel(**about, is_pivot=is_pivot, created_by=by))


def register_translated_model(*, by: User | None, **about: Unpack[TranslatedRegistration]) -> CaptioningModel:
    """Register a model whose captions are machine translations of another's English ones.

    Raises
    ------
    BackendSettingsError
    """
    if about["english_model"].english_model_id is not None:
        raise BackendSettingsError(
            _("“%(name)s” is itself a translation. Choose another model.") % {"name": about["english_model"].name}
        )
    return _saved(CaptioningModel(**about, backend=TRANSLATED, created_by=by))


def register_translator(*, by: User | None, **about: Unpack[Registration]) -> Translator:
    """
    Raises
    ------
    BackendSettingsError
    """
    spec = spec_in(about)
    kind = registry.translator_named(about["backend"])
    kind.check(spec)
    if not kind.languages(spec):
        raise BackendSettingsError(
            _("It cannot translate into any language as set up here. Say which languages it knows.")
        )
    return _saved(Translator(**about, created_by=by))


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
    taken = _("The name “%(name)s” is already taken. Choose another.") % {"name": row.name}
    return save_new(row, name_taken=BackendSettingsError(taken))
