"""Setting up rounds: which images are captioned, in what order, after which English caption."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import groupby, islice

from django.db import transaction

from allocation.models import Pool, Task
from annotation.models import CaptionTask, Guidelines, Round, RoundKind
from annotation.services import figures
from corpus.models import Collection
from inference.models import CaptioningModel, ModelCaption
from languages.models import Language
from people.models import Project

SHUFFLE_KEYS = 2**31
TASKS_PER_INSERT = 5000
ENGLISH = "en"


def create_round(
    *,
    project: Project,
    language: Language,
    collection: Collection,
    captioners: Iterable[CaptioningModel],
    replication: int = 2,
    batch_size: int = 15,
    hold_s: int = 24 * 3600,
    seed: int,
    kind: RoundKind = RoundKind.MAIN,
    number: int = 1,
    with_tasks: bool = True,
) -> Round:
    """Make a round with a task for every image of `collection` that one of `captioners` has described in English.

    Without `with_tasks` the round waits for `fill_round` to make them in the background.
    """
    with transaction.atomic():
        made = Round.objects.create(
            project=project,
            language=language,
            kind=kind,
            number=number,
            collection=collection,
            guidelines=Guidelines.objects.filter(project=project).latest("version"),
            pool=Pool.objects.create(replication=replication, batch_size=batch_size, hold_s=hold_s),
            seed=seed,
            awaits_tasks=not with_tasks,
        )
        made.captioners.set(captioners)
        if with_tasks:
            add_missing_tasks(made)
    return made


def fill_round(*, round_id: int) -> int:
    """Make the tasks that a round still lacks, some at a time so that nobody's writing waits; returns how many.

    Stopped half-way or run twice at once, it does no harm: it begins with what is missing.
    """
    added = 0
    while True:
        with transaction.atomic(durable=True):
            # Whoever asks for more tasks meanwhile waits for this lock, so that the mark they set is not lost.
            round = Round.objects.select_for_update(no_key=True).get(pk=round_id)
            made = add_missing_tasks(round, at_most=TASKS_PER_INSERT)
            added += made
            if made < TASKS_PER_INSERT:
                Round.objects.filter(pk=round_id).update(awaits_tasks=False)
                return added


def add_missing_tasks(round: Round, *, at_most: int | None = None) -> int:
    """Add a task for each image that has got an English caption since, up to `at_most`; returns how many.

    Where several models described an image, one of their captions is drawn by the round's seed and the image.
    """
    with transaction.atomic():
        Pool.objects.select_for_update().get(pk=round.pool_id)
        captions = (
            ModelCaption.objects.filter(
                model__in=round.captioners.all(), language_id=ENGLISH, image__collections=round.collection_id
            )
            .exclude(image__in=CaptionTask.objects.filter(round=round).values("image"))
            .order_by("image_id", "model_id")
            .only("pk", "image_id")
        )
        added = 0
        per_image = (list(found) for _, found in groupby(captions.iterator(), key=lambda caption: caption.image_id))
        wanted = islice(per_image, at_most)
        while chunk := list(islice(wanted, TASKS_PER_INSERT)):
            draws = [random.Random(f"{round.seed}:{choice[0].image_id}") for choice in chunk]
            tasks = Task.objects.bulk_create(
                Task(pool_id=round.pool_id, shuffle_key=draw.randrange(SHUFFLE_KEYS), places=round.replication)
                for draw in draws
            )
            CaptionTask.objects.bulk_create(
                CaptionTask(task=task, round=round, image_id=choice[0].image_id, english=draw.choice(choice))
                for task, draw, choice in zip(tasks, draws, chunk, strict=True)
            )
            added += len(tasks)
        figures.places_changed(round=round)
    return added
