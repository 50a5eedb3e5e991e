"""Makes what the demo begins with, by the same services that pages and commands use."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from random import Random

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission
from django.utils import timezone

from annotation.models import CaptionBatch, CaptionItem, Rating, Round, RoundKind
from annotation.services import batches
from annotation.services.rounds import fill_round
from core.allocation.services.lifecycle import expire_overdue
from core.images.models import Collection
from core.images.services.collections import find_or_create_collection
from core.images.services.imports import import_path
from core.people.models import Consent, Project, Role, User
from core.people.services.accounts import set_language_skills
from core.people.services.consent import give_consent
from core.people.services.members import add_member
from office.dashboard.formats.campaign_file import read_campaign
from office.dashboard.selectors.campaign_file import campaign_of
from office.dashboard.services.campaign.applying import apply_campaign
from research.inference.models import CaptioningModel
from tools.demo import evaluations, game_items, games, photographs, places, practice
from tools.demo.captions import Clock, import_captions, with_sizes
from tools.demo.files import FOLDER
from tools.demo.people import (
    MANAGER,
    NEEDING_CONSENT,
    PASSWORD,
    PEOPLE,
    RESEARCHER,
    DemoPerson,
    SignIn,
    sign_ins,
)
from tools.demo.research import load_references, start_runs
from tools.demo.texts import MODEL_DESCRIPTION, MODEL_NAME, TEXTS, PhotographTexts

PROJECT_NAME = "Crosslens demo"
COLLECTION_NAME = "Demo photographs"
SEED = 3600
LEASE = timedelta(days=3)
SUBMITTED = ("anna-de", "arjun-hi", "kenji-ja")
"""So many people that lists of work say how long a batch takes."""
WRITTEN_BY_BERND = 6
RATED_BY_LUCIA = 9
RATED_BY_NEEMA = 4
RATING_TIME = timedelta(seconds=12)
WRITING_TIME = timedelta(seconds=47)


def load(*, clock: Clock = timezone.now, say: Callable[[str], object] = lambda _sentence: None) -> list[SignIn]:
    """Make what is missing of the demo, and keep what is there and what was done in it. `say` announces long steps.

    Raises tools.demo.photographs.PhotographsMissingError.
    """
    folder = photographs.installed(say, also=game_items.PACKAGED)
    people = {person.username: _person(person) for person in PEOPLE}
    collection = _collection(folder, clock)
    model = _captions(folder, collection, clock)
    evaluations.import_models(collection, folder.parent, clock)
    project = _project(people, clock())
    for one in PEOPLE:
        practice.pass_all(
            project=project, person=people[one.username], role=one.role, language=one.language, now=clock()
        )
    main = Round.objects.filter(project=project, kind=RoundKind.MAIN).select_related("pool")
    rounds = {round.language_id: round for round in main}
    for hours, username in zip((26, 20, 7), SUBMITTED, strict=True):
        _submit_all(people[username], rounds[username[-2:]], clock() - timedelta(hours=hours))
    _bernd(people["bernd-de"], rounds["de"], clock() - timedelta(hours=2))
    _rate_some(people["lucia-es"], rounds["es"], RATED_BY_LUCIA, clock() - timedelta(hours=1))
    _rate_some(people["neema-sw"], rounds["sw"], RATED_BY_NEEMA, clock() - LEASE - timedelta(days=1))
    evaluations.load(project=project, people=people, clock=clock)
    load_references(project=project, collection=collection, manager=people[MANAGER], folder=folder.parent, clock=clock)
    places.load(manager=people[MANAGER], researcher=people[RESEARCHER], folder=folder, clock=clock)
    start_runs(collection=collection, captioned_by=model, manager=people[MANAGER], clock=clock)
    games.load(project=project, people=people, manager=people[MANAGER], unpacked=folder, clock=clock, say=say)
    expire_overdue(now=clock())
    return sign_ins()


@cache
def _hashed_password() -> str:
    """Hash once for all: it takes a third of a second on purpose, and the password is no secret."""
    return make_password(PASSWORD)


def _person(person: DemoPerson) -> User:
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


def _collection(folder: Path, clock: Clock) -> Collection:
    collection = find_or_create_collection(COLLECTION_NAME)
    if collection.entries.count() < len(photographs.PHOTOGRAPHS):
        with_sizes(partial(import_path, path=folder / "manifest.jsonl", collection=collection), clock=clock)
    return collection


def _captions(folder: Path, collection: Collection, clock: Clock) -> CaptioningModel:
    return import_captions(
        model=MODEL_NAME,
        description=MODEL_DESCRIPTION,
        language="en",
        captions={key: texts.english for key, texts in TEXTS.items()},
        collection=collection,
        folder=folder.parent,
        clock=clock,
    )


def _project(people: dict[str, User], now: datetime) -> Project:
    """Make the project of campaign.toml; one that is there gets the parts of it that it lacks."""
    project = Project.objects.filter(name=PROJECT_NAME, created_by=people[MANAGER]).first()
    campaign = read_campaign((FOLDER / "campaign.toml").read_bytes())
    if project is not None:
        there = campaign_of(project)
        campaign = {"project": there["project"]} | {name: campaign[name] for name in campaign if not there.get(name)}
    project = apply_campaign(campaign, project=project, by=people[MANAGER], now=now).project
    for round in project.rounds.filter(awaits_tasks=True):
        fill_round(round_id=round.pk)
    for person in PEOPLE:
        _take_part(people[person.username], person.role, project, now)
    return project


def _take_part(user: User, role: Role, project: Project, now: datetime) -> None:
    """Give a role and consent to a person who never had them here. A person who has left is not added again."""
    if role not in NEEDING_CONSENT:
        add_member(project=project, user=user, role=role)
    elif not Consent.objects.filter(user=user, text__project=project).exists():
        add_member(project=project, user=user, role=role)
        newest = project.consent_texts.latest("version")
        give_consent(project=project, user=user, version=newest.version, now=now)


def _submit_all(person: User, round: Round, began_at: datetime) -> None:
    batch = _first_batch(person, round, began_at)
    if batch is None:
        return
    now = _rate(batch, person, annotator_index=0, count=None, now=began_at)
    now = _write(batch, person, annotator_index=0, count=None, now=now)
    batches.submit_batch(batch_id=batch.pk, person=person, now=now)


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
    """Take a batch for somebody who never had one here; return None for others."""
    if CaptionBatch.objects.filter(round=round, lease__person=person).exists():
        return None
    return batches.take_batch(round=round, person=person, now=now, rng=Random(SEED))


def _rate(batch: CaptionBatch, person: User, *, annotator_index: int, count: int | None, now: datetime) -> datetime:
    for item, texts in _items(batch)[:count]:
        now += RATING_TIME
        batches.save_rating(
            batch_id=batch.pk,
            person=person,
            position=item.position,
            rating=Rating(texts.ratings[annotator_index]),
            active_ms=_ms(RATING_TIME),
            now=now,
        )
    return now


def _write(batch: CaptionBatch, person: User, *, annotator_index: int, count: int | None, now: datetime) -> datetime:
    batches.open_writing(batch_id=batch.pk, person=person, now=now)
    for item, texts in _items(batch)[:count]:
        now += WRITING_TIME
        batches.save_draft(
            batch_id=batch.pk,
            person=person,
            position=item.position,
            text=texts.written_in(batch.round.language_id)[annotator_index],
            revision=item.revision,
            active_ms=_ms(WRITING_TIME),
            now=now,
        )
    return now


def _items(batch: CaptionBatch) -> list[tuple[CaptionItem, PhotographTexts]]:
    entries = batch.round.collection.entries
    keys = dict(entries.values_list("image_id", "key"))
    return [(item, TEXTS[keys[item.image_id]]) for item in batch.items.order_by("position")]


def _ms(time: timedelta) -> int:
    return int(time.total_seconds() * 1000)
