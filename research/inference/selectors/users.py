"""Register what runs, vectors and derived models use, so that none is taken from a project that needs it."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet

from core.images.models import Collection
from core.people.services.ownership import ANYBODY, register
from research.inference.models import CaptioningModel, EmbeddingSet, Encoder, Run, Training, Translator


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
