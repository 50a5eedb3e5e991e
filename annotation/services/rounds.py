"""Setting up rounds: which images are captioned, in what order, after which English caption."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import groupby, islice

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from annotation.models import DECIDED, CaptionTask, Guidelines, Round, RoundKind, RoundState
from annotation.rules.sampling import SHUFFLE_KEYS, draw_images
from annotation.services import figures
from annotation.services.english_captions import replace_switched_off
from core.allocation.models import Pool, Task
from core.allocation.services.locks import lock_pool
from core.conversation.selectors import withdrawn_images
from core.images.models import Collection, CollectionImage
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.models import Project, User
from research.inference.models import CaptioningModel, ModelCaption

TASKS_PER_INSERT = 5000


def create_round(
    *,
    project: Project,
    language: Language,
    collection: Collection,
    captioners: Iterable[CaptioningModel],
    replication: int = 2,
    batch_size: int = 15,
    lease_s: int = 24 * 3600,
    seed: int,
    kind: RoundKind = RoundKind.MAIN,
    number: int = 1,
    state: RoundState = RoundState.OPEN,
    sample_size: int | None = None,
    verifies: Round | None = None,
    needs_qualification: bool = False,
    reason: str = "",
    source: str = "",
    by: User | None = None,
    now: datetime | None = None,
    with_tasks: bool = True,
) -> Round:
    """Make a round with a task for every image of `collection` that one of `captioners` has described in English.

    With a `sample_size`, only that many images are drawn. Without `with_tasks`, `fill_round` makes the tasks later in
    the background; a round that is not open gets none before that. `by` and `now` are for a round that is already
    decided: skipped for a `reason`, or with captions from a file (`source`).
    """
    is_open = state == RoundState.OPEN
    with transaction.atomic():
        made = Round.objects.create(
            project=project,
            language=language,
            kind=kind,
            number=number,
            collection=collection,
            guidelines=Guidelines.objects.filter(project=project).latest("version"),
            pool=Pool.objects.create(replication=replication, batch_size=batch_size, lease_s=lease_s, is_open=is_open),
            seed=seed,
            state=state,
            sample_size=sample_size,
            verifies=verifies,
            needs_qualification=needs_qualification,
            reason=reason,
            source=source,
            awaits_tasks=is_open and not with_tasks,
            opened_at=now if is_open else None,
            decided_at=now if state in DECIDED else None,
            decided_by=by if state in DECIDED else None,
        )
        made.captioners.set(captioners)
        if is_open and with_tasks and kind != RoundKind.VERIFICATION:
            add_missing_tasks(made)
    return made


def fill_round(*, round_id: int, add: Callable[..., int] | None = None) -> int:
    """Make the tasks that a round still lacks, some at a time so that nobody's saving waits; return how many.

    It is safe to stop it half-way or run it twice at once: `add` adds only what is missing, tasks of images by default.
    """
    added = 0
    while True:
        with transaction.atomic(durable=True):
            # A service that asks for more tasks meanwhile waits for this lock, so that its mark is not lost.
            rounds = Round.objects.select_for_update(no_key=True, of=("self",)).select_related("pool", "verifies")
            round = rounds.get(pk=round_id)
            made = (add or add_missing_tasks)(round, at_most=TASKS_PER_INSERT) if round.state == RoundState.OPEN else 0
            added += made
            if made < TASKS_PER_INSERT:
                Round.objects.filter(pk=round_id).update(awaits_tasks=False, filled_at=Now())
                return added


def add_missing_tasks(round: Round, *, at_most: int | None = None) -> int:
    """Add a task for each image that got an English caption since, up to `at_most`; return how many.

    Of a sample, add as many as it still lacks, drawn by the round's seed and the keys of the images. If several models
    described an image, the seed and the image decide which caption is used.
    """
    with transaction.atomic():
        lock_pool(round.pool)
        replace_switched_off(CaptionTask.objects.filter(round=round))
        captions = _missing(round).order_by("image_id", "model_id").only("pk", "image_id")
        added = 0
        per_image = (list(group) for _, group in groupby(captions.iterator(), key=lambda caption: caption.image_id))
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


def _missing(round: Round) -> QuerySet[ModelCaption]:
    """Yield English captions of the images that the round should have and does not."""
    captions = (
        ModelCaption.objects.in_use()
        .filter(model__in=round.captioners.all(), language_id=ENGLISH, image__collections=round.collection_id)
        .exclude(image__in=CaptionTask.objects.filter(round=round).values("image"))
        .exclude(image__in=round.collection.entries.left_out().values("image"))
        .exclude(image__in=withdrawn_images(round.project_id, round.language_id))
    )
    if round.sample_size is None:
        return captions
    entries = CollectionImage.objects.filter(collection=round.collection_id, image__in=captions.values("image"))
    images = draw_images(
        dict(entries.values_list("key", "image_id")),
        seed=round.seed,
        size=max(0, round.sample_size - CaptionTask.objects.filter(round=round).count()),
        last=set(_in_earlier_pilots(round).values_list("image_id", flat=True)),
    )
    return captions.filter(image__in=images)


def _in_earlier_pilots(round: Round) -> QuerySet[CaptionTask]:
    return CaptionTask.objects.filter(
        round__project=round.project_id,
        round__language=round.language_id,
        round__kind=RoundKind.PILOT,
        round__number__lt=round.number,
    )
