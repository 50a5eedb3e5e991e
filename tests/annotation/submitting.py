"""Captions for tests: handed in through the services, or many at once by rows that look as if they had been."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any

from annotation.models import Caption, CaptionBatch, CaptionItem, Rating, Round, Stage
from annotation.services import batches as services
from annotation.services.projects import NewRound, add_languages
from annotation.services.rounds import fill_round
from core.allocation.models import Assignment, AssignmentState, Batch, BatchState, Pool, Task
from core.images.models import Collection, Image
from core.people.models import Project, User
from tests.factories import NOW, make_captioner, make_language, make_user


def take(round: Round, person: User, *, now: datetime = NOW) -> CaptionBatch:
    batch = services.take_batch(round=round, person=person, now=now, rng=Random(0))
    assert batch is not None
    return batch


def write(batch: CaptionBatch, person: User, text: str, *, now: datetime = NOW) -> None:
    """Rate every image of a batch and write `text`, with the image's position, about each."""
    positions = list(batch.items.values_list("position", flat=True))
    services.save_ratings(batch_id=batch.pk, person=person, ratings=dict.fromkeys(positions, Rating.GOOD), now=now)
    services.open_writing(batch_id=batch.pk, person=person, now=now)
    for position in positions:
        draft: dict[str, Any] = {"position": position, "text": f"{text} {position}", "revision": 0, "active_ms": 0}
        services.save_draft(batch_id=batch.pk, person=person, now=now, **draft)


def submit_captions(
    round: Round, person: User, text: str = "Ein Bild von etwas", *, now: datetime = NOW
) -> CaptionBatch:
    batch = take(round, person, now=now)
    write(batch, person, text, now=now)
    return services.submit_batch(batch_id=batch.pk, person=person, now=now)


def begin_language(project: Project, collection: Collection, language: str = "de", **fields: Any) -> Round:
    """The first round of a language that a project begins with; its images have tasks."""
    values: dict[str, Any] = {"replication": 1, "batch_size": 2, "lease_s": 3600, "seed": 1, "now": NOW} | fields
    captioners = values.pop("captioners", None) or [make_captioner(collection)]
    languages = [NewRound(make_language(language), values.pop("replication"))]
    about: dict[str, Any] = {
        "collection": collection,
        "captioners": captioners,
        "languages": languages,
        "by": project.created_by,
    }
    (first,) = add_languages(project=project, **about, **values)
    fill_round(round_id=first.pk)
    return first


def done_batch(pool: Pool, person: User, at: datetime = NOW, **fields: Any) -> Batch:
    times: dict[str, Any] = {"taken_at": at, "lease_s": 1, "deadline": at, "closed_at": at}
    return Batch.objects.create(pool=pool, person=person, state=BatchState.DONE, **times, **fields)


def caption_from_file(round: Round, image: Image, text: str, *, position: int = 1, at: datetime = NOW) -> Caption:
    texts: dict[str, Any] = {"text": text, "text_as_typed": text, "position": position}
    return Caption.objects.create(round=round, image=image, guidelines=round.guidelines, submitted_at=at, **texts)


def make_captions(round: Round, texts: Mapping[int, Sequence[str]]) -> list[User]:
    """Put captions of images (by their primary keys) into a round, the n-th of each by the n-th person made here."""
    tasks = {
        task.caption_task.image_id: task
        for task in Task.objects.filter(caption_task__round=round).select_related("caption_task")
    }
    most = max(len(of_task) for of_task in texts.values())
    return [
        _captions_by_one(round, tasks, {pk: of_task[n] for pk, of_task in texts.items() if n < len(of_task)})
        for n in range(most)
    ]


def _captions_by_one(round: Round, tasks: Mapping[int, Task], texts: Mapping[int, str]) -> User:
    person = make_user()
    guidelines = round.project.guidelines.get()
    batch = done_batch(round.pool, person)
    caption_batch = CaptionBatch.objects.create(
        lease=batch, round=round, guidelines=guidelines, stage=Stage.SUBMITTED, writing_opened_at=NOW, submitted_at=NOW
    )
    mine = [tasks[image] for image in texts]
    assignments = Assignment.objects.bulk_create(
        Assignment(task=task, batch=batch, person=person, position=position, state=AssignmentState.DONE)
        for position, task in enumerate(mine, start=1)
    )
    items = CaptionItem.objects.bulk_create(
        CaptionItem(
            assignment=assignment,
            batch=caption_batch,
            person=person,
            position=assignment.position,
            image_id=task.caption_task.image_id,
            english_id=task.caption_task.english_id,
            rating=Rating.GOOD,
            rated_at=NOW,
        )
        for assignment, task in zip(assignments, mine, strict=True)
    )
    Caption.objects.bulk_create(
        Caption(
            item=item,
            round=round,
            image_id=item.image_id,
            author=person,
            guidelines=guidelines,
            text=unicodedata.normalize("NFC", text).strip(),
            text_as_typed=text,
            submitted_at=NOW,
        )
        for item, text in zip(items, texts.values(), strict=True)
    )
    return person
