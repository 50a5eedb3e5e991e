"""Register, edit, retire, delete and merge models and translators. Nothing is loaded: only the settings are checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Required, TypedDict, TypeVar, Unpack

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, ProtectedError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.people.models import Project, User
from core.people.services import audit_log
from core.people.services.ownership import change_owner, check_parts, is_name_taken, users_of
from research.inference.backends.captioners import BackendSettingsError
from research.inference.models import (
    TRANSLATED,
    UNFINISHED_STATES,
    CaptioningModel,
    ModelCaption,
    RegisteredModel,
    Run,
    Stabiliser,
    Translator,
)
from research.inference.services.model_cache import backend_of

Row = TypeVar("Row", bound=RegisteredModel)
Registered = TypeVar("Registered", CaptioningModel, Translator)
CAPTIONS_PER_DELETION = 5000


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
    """Raises BackendSettingsError: `name_taken`, where what is used beside `row` has its name."""
    # What is shared with all may be used beside what is one's own, and goes by its name, too.
    if is_name_taken(row):
        raise name_taken
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise name_taken from error
    return row


def register_model(*, is_pivot: bool = False, by: User | None, **about: Unpack[ModelRegistration]) -> CaptioningModel:
    """Register a model for runs.

    Raises BackendSettingsError where the name is taken, there is no such backend, or it does not take the source or an
    option.
    """
    model = CaptioningModel(**about, is_pivot=is_pivot, created_by=by)
    return _checked(model, _("It cannot write any language as set up here. Say which languages it writes."))


def register_translated_model(*, by: User | None, **about: Unpack[TranslatedRegistration]) -> CaptioningModel:
    """Register a model whose captions are machine translations of another's English ones.

    Raises BackendSettingsError.
    """
    if about["english_model"].english_model_id is not None:
        raise BackendSettingsError(
            _("“%(name)s” is itself a translation. Choose another model.") % {"name": about["english_model"].name}
        )
    return _saved(CaptioningModel(**about, backend=TRANSLATED, created_by=by))


def register_translator(*, by: User | None, **about: Unpack[ModelRegistration]) -> Translator:
    """Raises BackendSettingsError."""
    translator = Translator(**about, created_by=by)
    return _checked(
        translator, _("It cannot translate into any language as set up here. Say which languages it knows.")
    )


def edit_model(*, model: CaptioningModel, name: str, description: str, by: User | None, now: datetime) -> None:
    """Change the details of a model. Its source and options stay: what it made follows from them.

    Raises BackendSettingsError where the name is taken, or the model has captions: scores and releases name it.
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

    Raises BackendSettingsError where workers are at a run of it.
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

    Raises core.people.services.ownership.OwnerRefusedError also where what it translates from or with is not as widely
    shared.
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


class ModelUsedError(Exception):
    """The model cannot be deleted, because something uses it."""


def uses_of_model(model: CaptioningModel) -> dict[str, int]:
    """Count what uses a model or its variants besides their own runs, by the name of its kind."""
    uses: Counter[str] = Counter()
    for one in model.family():
        uses.update(users_of(one))
    del uses[str(Run._meta.verbose_name_plural)]
    return dict(uses)


def delete_model(*, model: CaptioningModel, by: User, now: datetime) -> None:
    """Delete a model with its variants, runs and captions.

    Raises ModelUsedError: a round, comparison, score or anything else uses it, or a worker is at one of its runs.
    """
    family = [one.pk for one in model.family()]
    try:
        with transaction.atomic():
            # New uses wait for this, and then find nothing.
            list(CaptioningModel.objects.select_for_update().filter(pk__in=family).order_by("pk").values_list("pk"))
            if uses_of_model(model) or Run.objects.filter(model__in=family, state__in=UNFINISHED_STATES).exists():
                raise ModelUsedError(_("This model is in use, so it cannot be deleted."))
            _delete_captions(family)
            Stabiliser.objects.filter(model__in=family).delete()
            Run.objects.filter(model__in=family).delete()
            CaptioningModel.objects.filter(pk__in=family).exclude(variant_of=None).delete()
            CaptioningModel.objects.filter(pk__in=family).delete()
            if model.project is not None:
                about, details = f"model {model.pk}", {"name": model.name}
                audit_log.record(
                    project=model.project, action="model.deleted", about=about, by=by, now=now, details=details
                )
    except ProtectedError as error:
        raise ModelUsedError(_("This model is in use, so it cannot be deleted.")) from error


def merge_model(*, model: CaptioningModel, into: CaptioningModel, by: User, now: datetime) -> int:
    """Give the captions of an imported model to another that is the same, and delete it; return how many moved.

    Raises ModelUsedError: something uses it, or the other has different captions of the same images.
    """
    with transaction.atomic():
        theirs = ModelCaption.objects.filter(model=into, image=OuterRef("image"), language=OuterRef("language"))
        captions = ModelCaption.objects.filter(model=model)
        if differing := captions.filter(Exists(theirs.exclude(text=OuterRef("text")))).count():
            text = ngettext(
                "“%(name)s” of “%(project)s” has another caption of %(number)d image, so these are two models.",
                "“%(name)s” of “%(project)s” has other captions of %(number)d images, so these are two models.",
                differing,
            )
            raise ModelUsedError(text % {"name": into, "project": into.project or _("no project"), "number": differing})
        if uses_of_model(model):
            raise ModelUsedError(_("This model is in use, so it cannot be merged with another."))
        moved = captions.exclude(Exists(theirs)).update(model=into)
        delete_model(model=model, by=by, now=now)
        return moved


def _delete_captions(family: list[int]) -> None:
    """Some at a time: a model has hundreds of thousands, and each is looked at before it is deleted."""
    captions = ModelCaption.objects.filter(model__in=family)
    while some := list(captions.values_list("pk", flat=True)[:CAPTIONS_PER_DELETION]):
        ModelCaption.objects.filter(pk__in=some).delete()
