"""Register models and translators, edit and retire models. Nothing is loaded: only the settings are checked."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar, Unpack

from django.db import transaction
from django.utils.translation import gettext as _

from core.people.models import Project, User
from core.people.services import audit_log
from core.people.services.ownership import change_owner, check_parts, is_name_taken
from research.inference.backends.captioners import BackendSettingsError
from research.inference.models import TRANSLATED, UNFINISHED_STATES, CaptioningModel, ModelCaption, Run, Translator
from research.inference.services.model_cache import backend_of
from research.inference.services.registration import ModelRegistration, Row, TranslatedRegistration, save_new

Registered = TypeVar("Registered", CaptioningModel, Translator)


def register_model(*, is_pivot: bool = False, by: User | None, **about: Unpack[ModelRegistration]) -> CaptioningModel:
    """Register a model for runs.

    Raises
    ------
    BackendSettingsError
        Where the name is taken, there is no such backend, or it does not take the source or an option.
    """
    model = CaptioningModel(**about, is_pivot=is_pivot, created_by=by)
    return _checked(model, _("It cannot write any language as set up here. Say which languages it writes."))


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


def register_translator(*, by: User | None, **about: Unpack[ModelRegistration]) -> Translator:
    """
    Raises
    ------
    BackendSettingsError
    """
    translator = Translator(**about, created_by=by)
    return _checked(
        translator, _("It cannot translate into any language as set up here. Say which languages it knows.")
    )


def edit_model(*, model: CaptioningModel, name: str, description: str, by: User | None, now: datetime) -> None:
    """Change the details of a model. Its source and options stay: what it made follows from them.

    Raises
    ------
    BackendSettingsError
        Where the name is taken, or the model has captions: scores and releases name it.
    """
    with transaction.atomic():
        locked = CaptioningModel.objects.select_for_update(no_key=True).get(pk=model.pk)
        before = locked.name
        if name != before and has_captions(locked):
            raise BackendSettingsError(
                _("There are captions of this model. Scores and releases name it, so its name cannot be changed.")
            )
        locked.name, locked.description = name, description
        if is_name_taken(locked):
            raise BackendSettingsError(_("The name “%(name)s” is already taken. Choose another.") % {"name": name})
        locked.save(update_fields=["name", "description"])
        details = {"name": name, "before": before} if name != before else {}
        _record(locked, "model.changed", details, by, now)
    model.refresh_from_db()


def has_captions(model: CaptioningModel) -> bool:
    return ModelCaption.objects.filter(model__in=model.family()).exists()


def set_retired(*, model: CaptioningModel, is_retired: bool, by: User | None, now: datetime) -> None:
    """Retire a model and its variants, or restore them. Runs, captions and scores of a retired model stay.

    Raises
    ------
    BackendSettingsError
        Where workers are at a run of it.
    """
    with transaction.atomic():
        family = model.family()
        going = Run.objects.filter(model__in=family, state__in=UNFINISHED_STATES).first()
        if is_retired and going is not None:
            raise BackendSettingsError(
                _("Run %(number)s is still going. Wait until it is done, or cancel it.") % {"number": going.pk}
            )
        of_family = CaptioningModel.objects.filter(pk__in=[one.pk for one in family])
        changed = of_family.filter(retired_at__isnull=is_retired).update(retired_at=now if is_retired else None)
        if changed:
            _record(model, "model.retired" if is_retired else "model.restored", {}, by, now)
    model.refresh_from_db()


def _record(model: CaptioningModel, action: str, details: dict[str, Any], by: User | None, now: datetime) -> None:
    if model.project is not None:
        audit_log.record(
            project=model.project, action=action, about=f"model {model.pk}", by=by, now=now, details=details
        )


def give_model(
    *, model: CaptioningModel, project: Project | None, is_shared: bool, by: User | None, now: datetime
) -> None:
    """Change the owner of a model and its variants.

    Raises
    ------
    core.people.services.ownership.OwnerRefusedError
        Also where what it translates from or with is not as widely shared.
    """
    check_parts([model.english_model, model.translator], project=project, is_shared=is_shared)
    change_owner(things=model.family(), project=project, is_shared=is_shared, by=by, now=now)


def _checked(row: Registered, without_languages: str) -> Registered:
    backend = backend_of(row)
    backend.check(row.spec)
    if not backend.languages(row.spec):
        raise BackendSettingsError(without_languages)
    return _saved(row)


def _saved(row: Row) -> Row:
    taken = _("The name “%(name)s” is already taken. Choose another.") % {"name": row.name}
    return save_new(row, name_taken=BackendSettingsError(taken))
