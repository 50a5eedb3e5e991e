"""What a person has here: the data of their export, and what would be lost with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from core.images.models import Collection
from core.people.models import User
from core.people.personal_data import ExportPart
from core.people.services.ownership import ANYBODY, register
from research.inference.models import CaptioningModel, EmbeddingSet, Encoder, ModelCaption, Run, Training, Translator


def register_users() -> None:
    register(Collection, lambda owned: _of_some_project(Run.objects.filter(collection=owned)))
    register(Encoder, lambda owned: _of_some_project(Run.objects.filter(encoder=owned)))
    register(CaptioningModel, lambda owned: _of_some_project(Run.objects.filter(model=owned)))
    register(CaptioningModel, lambda owned: _of_some_project(Training.objects.filter(base=owned)))
    register(CaptioningModel, _embeddings_of, "run__project")
    register(CaptioningModel, lambda owned: _of_some_project(owned.translated_models.all()))
    register(CaptioningModel, lambda owned: owned.translated_models.filter(is_shared=True), ANYBODY)
    register(Translator, lambda owned: _of_some_project(CaptioningModel.objects.filter(translator=owned)))
    register(Translator, lambda owned: CaptioningModel.objects.filter(translator=owned, is_shared=True), ANYBODY)


def _embeddings_of(model: CaptioningModel) -> QuerySet[EmbeddingSet]:
    return _of_some_project(EmbeddingSet.objects.filter(captions_of=model), "run__")


def _of_some_project(rows: QuerySet[Any], path: str = "") -> QuerySet[Any]:
    """Leave out what somebody made for a project that does not exist yet."""
    return rows.exclude(Q(**{f"{path}project": None, f"{path}is_shared": False}))


def data_export(person: User) -> Iterator[ExportPart]:
    off = ModelCaption.objects.filter(switched_off_by=person).order_by("switched_off_at", "pk")
    about = _("Captions of models that you switched off, by number.")
    yield ExportPart("captions_switched_off", about, off.values("id", "switched_off_at", "switched_off_reason"))
    for name, about, kind in (
        ("models", _("Models that you registered, by number."), CaptioningModel),
        ("translators", _("Translators that you registered, by number."), Translator),
    ):
        registered = kind.objects.filter(created_by=person).order_by("created_at", "pk")
        yield ExportPart(name, about, registered.values("id", "created_at"))
    runs = Run.objects.filter(created_by=person).order_by("created_at", "pk")
    about = _("Runs of models that you started, by number.")
    yield ExportPart("runs", about, runs.values("id", "created_at", "state"))
