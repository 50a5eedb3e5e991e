"""Everything that the demo begins with, made by the same services that pages and commands use."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission
from django.utils import timezone

from allocation.services import lapse_overdue
from annotation.models import CaptionBatch, Item, Rating, Round
from annotation.services import batches
from annotation.services.projects import NewRound, create_project
from annotation.services.rounds import fill_round
from corpus.models import Collection, ImportJob, JobState, Outcome
from corpus.services.collections import collection_named
from corpus.services.images import make_sizes
from corpus.services.imports import import_path as import_images
from demo import photographs
from demo.texts import MODEL_DESCRIPTION, MODEL_NAME, TEXTS, Texts
from inference.models import CaptioningModel
from inference.services.imports import import_path as import_captions
from languages.models import Language
from people.models import Level, Project, Role, User
from people.services import add_member, give_consent, set_language_skills

Clock = Callable[[], datetime]

PROJECT_NAME = "Crosslens demo"
COLLECTION_NAME = "Demo photographs"
PASSWORD = "look-then-write"  # noqa: S105 - told to whoever starts the demo, on their own computer
SEED = 3600
HOLD = timedelta(days=3)
REPLICATION = 2


class Person(NamedTuple):
    username: str
    first_name: str
    role: Role
    what: str
    language: str = ""
    level: Level = Level.NATIVE
    interface_language: str = ""


class SignIn(NamedTuple):
    username: str
    password: str
    what: str


MANAGER, RESEARCHER = "mara", "rami"
PEOPLE = (
    Person(MANAGER, "Mara", Role.MANAGER, "manages the project"),
    Person(RESEARCHER, "Rami", Role.RESEARCHER, "researcher of the project"),
    Person("anna-de", "Anna", Role.ANNOTATOR, "writes German: has handed in all 15", "de"),
    Person("bernd-de", "Bernd", Role.ANNOTATOR, "writes German: in the middle of writing", "de", Level.FLUENT),
    Person("lucia-es", "Lucía", Role.ANNOTATOR, "writes Spanish: in the middle of rating", "es"),
    Person("mateo-es", "Mateo", Role.ANNOTATOR, "writes Spanish", "es"),
    Person("yusuf-ar", "Yusuf", Role.ANNOTATOR, "writes Arabic", "ar"),
    Person(
        "layla-ar", "Layla", Role.ANNOTATOR, "writes Arabic, with the pages in Arabic too", "ar", Level.NATIVE, "ar"
    ),
    Person("priya-hi", "Priya", Role.ANNOTATOR, "writes Hindi", "hi"),
    Person("arjun-hi", "Arjun", Role.ANNOTATOR, "writes Hindi", "hi", Level.FLUENT),
    Person("haruka-ja", "Haruka", Role.ANNOTATOR, "writes Japanese", "ja"),
    Person("kenji-ja", "Kenji", Role.ANNOTATOR, "writes Japanese", "ja"),
    Person("neema-sw", "Neema", Role.ANNOTATOR, "writes Swahili: her time ran out", "sw"),
    Person("baraka-sw", "Baraka", Role.ANNOTATOR, "writes Swahili", "sw", Level.FLUENT),
)
LANGUAGES = tuple(dict.fromkeys(person.language for person in PEOPLE if person.language))

WRITTEN_BY_BERND = 6
RATED_BY_LUCIA = 9
RATED_BY_NEEMA = 4
RATING_TIME = timedelta(seconds=12)
WRITING_TIME = timedelta(seconds=47)


def sign_ins() -> list[SignIn]:
    """Who can sign in to the demo, the manager first."""
    return [SignIn(person.username, PASSWORD, person.what) for person in PEOPLE]


def load(*, clock: Clock = timezone.now, say: Callable[[str], object] = lambda _sentence: None) -> list[SignIn]:
    """Make what is missing of the demo; what is there, and whatever was done in it, stays. `say` tells of long steps.

    Raises
    ------
    demo.photographs.PhotographsMissing
    """
    folder = photographs.installed(say)
    people = {person.username: _person(person) for person in PEOPLE}
    collection = _pictures(folder, clock)
    model = _captions(folder, collection, clock)
    project = _project(people, collection, model, clock())
    rounds = {round.language_id: round for round in Round.objects.filter(project=project).select_related("pool")}
    _anna(people["anna-de"], rounds["de"], clock() - timedelta(days=1, hours=2))
    _bernd(people["bernd-de"], rounds["de"], clock() - timedelta(hours=2))
    _rate_some(people["lucia-es"], rounds["es"], RATED_BY_LUCIA, clock() - timedelta(hours=1))
    _rate_some(people["neema-sw"], rounds["sw"], RATED_BY_NEEMA, clock() - HOLD - timedelta(days=1))
    lapse_overdue(now=clock())
    return sign_ins()


@cache
def _hashed_password() -> str:
    """One for all, as making it takes a third of a second on purpose, and the password is no secret."""
    return make_password(PASSWORD)


def _person(person: Person) -> User:
    user, is_new = User.objects.get_or_create(
        username=person.username,
        defaults={
            "email": f"{person.username}@example.org",
            "first_name": person.first_name,
            "password": _hashed_password(),
            "is_staff": person.role == Role.MANAGER,
        },
    )
    if is_new:
        levels = {person.language: person.level} if person.language else {}
        set_language_skills(user=user, levels=levels, reads_english=True, interface_language=person.interface_language)
        if person.role == Role.MANAGER:
            user.user_permissions.add(Permission.objects.get(codename="add_project", content_type__app_label="people"))
    return user


def _pictures(folder: Path, clock: Clock) -> Collection:
    collection = collection_named(COLLECTION_NAME)
    if collection.entries.count() < len(photographs.PHOTOGRAPHS):
        fresh: list[int] = []
        _check(import_images(path=folder / "manifest.jsonl", collection=collection, clock=clock, announce=fresh.append))
        # Here and now rather than by the worker, so that the first page has its pictures.
        for image_id in fresh:
            make_sizes(image_id=image_id, now=clock())
    return collection


def _captions(folder: Path, collection: Collection, clock: Clock) -> CaptioningModel:
    model, _is_new = CaptioningModel.objects.get_or_create(name=MODEL_NAME, defaults={"description": MODEL_DESCRIPTION})
    if model.captions.count() < len(TEXTS):
        file = folder.parent / "captions.jsonl"
        lines = ({"image": key, "caption": texts.english} for key, texts in TEXTS.items())
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        english = Language.objects.get(pk="en")
        _check(import_captions(path=file, model=MODEL_NAME, language=english, collection=collection, clock=clock))
    return model


def _check(job: ImportJob) -> None:
    """Raise RuntimeError where something of the demo's own content was not taken: that is a mistake in the demo."""
    refused = [f"{row.name}: {row.reason}" for row in job.rows.filter(outcome=Outcome.REJECTED)]
    if job.state != JobState.DONE or refused:
        raise RuntimeError("; ".join([job.error, *refused]))


def _project(people: dict[str, User], collection: Collection, model: CaptioningModel, now: datetime) -> Project:
    project = Project.objects.filter(name=PROJECT_NAME, created_by=people[MANAGER]).first()
    if project is None:
        project = create_project(
            creator=people[MANAGER],
            name=PROJECT_NAME,
            description="Fifteen photographs in six languages. The English captions were written by hand.",
            collection=collection,
            captioners=[model],
            languages=[NewRound(Language.objects.get(pk=tag), REPLICATION) for tag in LANGUAGES],
            batch_size=len(photographs.PHOTOGRAPHS),
            hold_s=int(HOLD.total_seconds()),
            seed=SEED,
        )
    for round in project.rounds.filter(awaits_tasks=True):
        fill_round(round_id=round.pk)
    for person in PEOPLE:
        add_member(project=project, user=people[person.username], role=person.role)
        if person.role == Role.ANNOTATOR:
            give_consent(project=project, user=people[person.username], version=1, now=now)
    return project


def _anna(anna: User, round: Round, began_at: datetime) -> None:
    batch = _first_batch(anna, round, began_at)
    if batch is None:
        return
    now = _rate(batch, anna, annotator_index=0, count=None, now=began_at)
    now = _write(batch, anna, annotator_index=0, count=None, now=now)
    batches.submit_batch(batch_id=batch.pk, annotator=anna, now=now)


def _bernd(bernd: User, round: Round, began_at: datetime) -> None:
    batch = _first_batch(bernd, round, began_at)
    if batch is None:
        return
    now = _rate(batch, bernd, annotator_index=1, count=None, now=began_at)
    _write(batch, bernd, annotator_index=1, count=WRITTEN_BY_BERND, now=now)


def _rate_some(person: User, round: Round, count: int, began_at: datetime) -> None:
    batch = _first_batch(person, round, began_at)
    if batch is not None:
        _rate(batch, person, annotator_index=0, count=count, now=began_at)


def _first_batch(person: User, round: Round, now: datetime) -> CaptionBatch | None:
    """A batch for somebody who never had one here; whoever had is left alone."""
    if CaptionBatch.objects.filter(round=round, batch__person=person).exists():
        return None
    return batches.take_batch(round=round, annotator=person, now=now, rng=Random(SEED))


def _rate(batch: CaptionBatch, person: User, *, annotator_index: int, count: int | None, now: datetime) -> datetime:
    for item, texts in _items(batch)[:count]:
        now += RATING_TIME
        batches.save_rating(
            batch_id=batch.pk,
            annotator=person,
            position=item.position,
            rating=Rating(texts.ratings[annotator_index]),
            active_ms=_ms(RATING_TIME),
            now=now,
        )
    return now


def _write(batch: CaptionBatch, person: User, *, annotator_index: int, count: int | None, now: datetime) -> datetime:
    batches.open_writing(batch_id=batch.pk, annotator=person, now=now)
    for item, texts in _items(batch)[:count]:
        now += WRITING_TIME
        batches.save_draft(
            batch_id=batch.pk,
            annotator=person,
            position=item.position,
            text=texts.german[annotator_index],
            revision=item.revision,
            active_ms=_ms(WRITING_TIME),
            now=now,
        )
    return now


def _items(batch: CaptionBatch) -> list[tuple[Item, Texts]]:
    entries = batch.round.collection.entries
    keys = dict(entries.values_list("image_id", "key"))
    return [(item, TEXTS[keys[item.image_id]]) for item in batch.items.order_by("position")]


def _ms(time: timedelta) -> int:
    return int(time.total_seconds() * 1000)
