"""Give tasks another English caption where theirs was switched off."""

from __future__ import annotations

import random
from collections import defaultdict

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import CaptionTask, Round
from core.allocation.models import Pool
from core.allocation.services.locks import lock_pool
from core.languages.rules.registry import ENGLISH
from research.inference.models import ModelCaption


def english_switched_off(caption: ModelCaption) -> None:
    """Replace a caption that was switched off in the tasks that nobody has yet. Call it in the same transaction."""
    with transaction.atomic():
        tasks = CaptionTask.objects.filter(english=caption)
        for pool in Pool.objects.filter(pk__in=_with_free_places(tasks).values("round__pool")).order_by("pk"):
            lock_pool(pool)
        replace_switched_off(tasks)


def replace_switched_off(tasks: QuerySet[CaptionTask]) -> int:
    """Give those of `tasks` that have free places a caption that is in use; returns how many got one.

    It is drawn among the round's models as `add_missing_tasks` draws. Where there is none, nobody gets the task until
    the caption is switched on again or another one comes. Items that exist keep their caption.
    """
    lacking = list(
        _with_free_places(tasks).filter(english__switched_off_at__isnull=False).select_related("round").order_by("pk")
    )
    captioners: dict[int, set[int]] = defaultdict(set)
    rounds = Round.objects.filter(pk__in={task.round_id for task in lacking})
    for round_id, model_id in rounds.values_list("pk", "captioners"):
        captioners[round_id].add(model_id)
    in_use: dict[int, list[ModelCaption]] = defaultdict(list)
    captions = ModelCaption.objects.in_use().filter(
        language=ENGLISH,
        image__in={task.image_id for task in lacking},
        model__in=set().union(*captioners.values()),
    )
    for caption in captions.order_by("image_id", "model_id").only("pk", "image_id", "model_id"):
        in_use[caption.image_id].append(caption)
    replaced = []
    for task in lacking:
        choice = [one for one in in_use[task.image_id] if one.model_id in captioners[task.round_id]]
        if choice:
            task.english = random.Random(f"{task.round.seed}:{task.image_id}").choice(choice)
            replaced.append(task)
    CaptionTask.objects.bulk_update(replaced, ["english"], batch_size=500)
    return len(replaced)


def _with_free_places(tasks: QuerySet[CaptionTask]) -> QuerySet[CaptionTask]:
    return tasks.filter(task__is_open=True)
