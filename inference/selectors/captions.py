"""Captioning models as managers see them: how much there is, never what it says."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count

from inference.models import CaptioningModel, ModelCaption
from languages.models import Language


@dataclass(frozen=True)
class ModelCount:
    model: CaptioningModel
    captions: list[tuple[Language, int]]


def models_with_counts() -> list[ModelCount]:
    languages = Language.objects.in_bulk()
    per_model: dict[int, list[tuple[Language, int]]] = {}
    counts = ModelCaption.objects.values_list("model_id", "language_id").annotate(Count("pk")).order_by("language_id")
    for model_id, tag, count in counts:
        per_model.setdefault(model_id, []).append((languages[tag], count))
    return [ModelCount(model, per_model.get(model.pk, [])) for model in CaptioningModel.objects.all()]
