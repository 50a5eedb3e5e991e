"""A database of a given size, written in SQL so that a million images take half a minute."""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client

from annotation.models import CaptionBatch, Guidelines, Round, Stage
from annotation.services.rounds import create_round
from core.allocation.models import Batch, BatchState
from core.images.models import Collection
from core.languages.models import Language
from core.people.models import Consent, ConsentText, LanguageLevel, LanguageSkill, Membership, Project, Role, User
from research.inference.models import CaptioningModel, ModelCaption
from sxs_eval.models import Comparison
from sxs_eval.selectors.planning import ComparisonSetting
from sxs_eval.services.comparisons import create_comparison
from tools.benchmarks.harness import TOKEN


def migrate() -> None:
    """Make the tables and the static files of an empty installation."""
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)


def analyse() -> None:
    """Let the database count its rows anew, without which it would join new ones one by one."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def make_round(name: str, images: int, *, batch_size: int = 15, replication: int = 2) -> Round:
    """A round of German captions over `images` invented images, each described by one model."""
    manager, _ = User.objects.get_or_create(username="bench-manager")
    project = Project.objects.create(slug=name, name=name, created_by=manager)
    Guidelines.objects.create(project=project, version=1, rating="Choose.", writing="Write.")
    ConsentText.objects.create(project=project, version=1, body="I agree.")
    collection = Collection.objects.create(is_shared=True, slug=name, name=name)
    model = CaptioningModel.objects.create(is_shared=True, name=name)
    round = create_round(
        project=project,
        language=Language.objects.get(pk="de"),
        collection=collection,
        captioners=[model],
        batch_size=batch_size,
        replication=replication,
        seed=1,
    )
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in _statements():
            cursor.execute("ANALYZE")  # Without it PostgreSQL would join the new million rows one by one.
            cursor.execute(
                statement.format(numbers=numbers_query(images)),
                {
                    "name": name,
                    "collection": collection.pk,
                    "model": model.pk,
                    "round": round.pk,
                    "pool": round.pool_id,
                    "places": replication,
                },
            )
    analyse()
    return round


def add_round(first: Round, language: Language) -> Round:
    """A round of another language beside one of `make_round`, with a task for each image."""
    model = first.captioners.get()
    round = create_round(
        project=first.project,
        language=language,
        collection=first.collection,
        captioners=[model],
        replication=first.replication,
        seed=1,
        with_tasks=False,
    )
    about = {"model": model.pk, "round": round.pk, "pool": round.pool_id, "places": round.replication}
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in _statements()[-2:]:
            cursor.execute(statement, about | {"name": model.name})
    Round.objects.filter(pk=round.pk).update(awaits_tasks=False)
    return round


def make_comparison(name: str, images: int, *, replication: int = 3) -> Comparison:
    """A comparison of German captions of two models over `images` invented images."""
    round = make_round(name, images)
    language = Language.objects.get(pk="de")
    models = []
    for which in ("base", "test"):
        models.append(CaptioningModel.objects.create(is_shared=True, name=f"{name} {which}"))
        ModelCaption.objects.bulk_create(
            ModelCaption(
                model=models[-1], image_id=image, language=language, text=f"Ein Hund läuft, sagt {which} zu {image}."
            )
            for image in round.collection.entries.values_list("image_id", flat=True)
        )
    return create_comparison(
        project=round.project,
        language=language,
        base=models[0],
        test=models[1],
        collection=round.collection,
        setting=ComparisonSetting(replication=replication, seed=1),
        by=None,
        with_pairs=True,
    )


def write_captions(
    round: Round,
    team: Sequence[User],
    *,
    images: int,
    now: datetime,
    rng: random.Random,
    text: str,
    days: int = 40,
    assigned: int = 0,
    expired: int = 0,
) -> None:
    """Two captions of each image, in SQL; a batch is a group of images that come one after the other.

    `text` is SQL that makes a text of the number `own.id`; `assigned` batches are not finished, and `expired` ones have
    nothing in them.
    """
    groups = range(-(-images // round.pool.batch_size))
    rows: list[tuple[Batch, int]] = []
    still_open = 0
    for copy in range(round.replication):
        for group in groups:
            is_open = copy == 0 and still_open < min(assigned, len(team)) and group >= len(groups) - len(team)
            still_open += is_open
            at = now - timedelta(days=rng.random() * days)
            state = BatchState.OPEN if is_open else BatchState.DONE
            person = team[(group + copy) % len(team)]
            rows.append((_batch(round, person, state, at, now), group))
    empty = [_batch(round, rng.choice(team), BatchState.EXPIRED, now, now) for _ in range(expired)]
    Batch.objects.bulk_create([*(batch for batch, _ in rows), *empty], batch_size=1000)
    CaptionBatch.objects.bulk_create([_caption_batch(round, batch) for batch, _ in rows], batch_size=1000)
    is_postgres = connection.vendor == "postgresql"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS bench_batch")
        kind = "uuid" if is_postgres else "char(32)"
        cursor.execute(f"CREATE TEMPORARY TABLE bench_batch (batch_id {kind}, images int, is_open int)")
        cursor.executemany(
            "INSERT INTO bench_batch VALUES (%s, %s, %s)",
            [
                (batch.pk if is_postgres else batch.pk.hex, group, int(batch.state == BatchState.OPEN))
                for batch, group in rows
            ],
        )
        for statement in _caption_statements(text):
            cursor.execute(statement, {"pool": round.pool_id, "round": round.pk, "batch": round.pool.batch_size})


def _batch(round: Round, person: User, state: BatchState, at: datetime, now: datetime) -> Batch:
    is_open = state == BatchState.OPEN
    return Batch(
        id=uuid.uuid4(),
        pool_id=round.pool_id,
        person=person,
        state=state,
        taken_at=now if is_open else at - timedelta(minutes=40),
        lease_s=24 * 3600,
        deadline=now + timedelta(hours=20) if is_open else at + timedelta(hours=20),
        closed_at=None if is_open else at,
    )


def _caption_batch(round: Round, batch: Batch) -> CaptionBatch:
    return CaptionBatch(
        lease=batch,
        round=round,
        guidelines_id=round.guidelines_id,
        stage=Stage.WRITE if batch.state == BatchState.OPEN else Stage.SUBMITTED,
        writing_opened_at=batch.taken_at,
        submitted_at=batch.closed_at,
    )


def _caption_statements(text: str) -> list[str]:
    return [
        (
            "INSERT INTO allocation_assignment (task_id, batch_id, person_id, position, state)"
            " SELECT task.id, batch.id, batch.person_id, (task.n - 1) %% %(batch)s + 1,"
            " CASE WHEN bench_batch.is_open = 1 THEN 'assigned' ELSE 'done' END FROM"
            " (SELECT id, row_number() OVER (ORDER BY id) AS n FROM allocation_task WHERE pool_id = %(pool)s) AS task"
            " JOIN bench_batch ON bench_batch.images = (task.n - 1) / %(batch)s"
            " JOIN allocation_batch AS batch ON batch.id = bench_batch.batch_id"
        ),
        "UPDATE allocation_task SET places_taken = 2 WHERE pool_id = %(pool)s",
        (
            "INSERT INTO annotation_captionitem (assignment_id, batch_id, person_id, position, image_id, english_id,"
            " rating, rated_at, rating_ms, text, revision, is_autosaved, saved_at, writing_ms)"
            " SELECT own.id, own.batch_id, own.person_id, own.position, what.image_id, what.english_id,"
            " CASE (own.id * 7919 + own.person_id * 31 + what.image_id * 13) %% 10"
            " WHEN 0 THEN 'BAD' WHEN 1 THEN 'BAD' WHEN 2 THEN 'MEDIUM' WHEN 3 THEN 'MEDIUM'"
            " WHEN 4 THEN 'NOT-ENOUGH-INFO' WHEN 5 THEN 'EXCELLENT' WHEN 6 THEN 'EXCELLENT' ELSE 'GOOD' END,"
            f" batch.taken_at, 4000 + own.id %% 5000, {text}, 1, false,"
            " batch.taken_at, 30000 + own.id %% 40000"
            " FROM allocation_assignment AS own JOIN allocation_batch AS batch ON batch.id = own.batch_id"
            " JOIN annotation_captiontask AS what ON what.task_id = own.task_id WHERE batch.pool_id = %(pool)s"
        ),
        "INSERT INTO annotation_caption (item_id, round_id, image_id, author_id, guidelines_id, position, text,"
        " text_as_typed, warnings, state, submitted_at)"
        " SELECT item.assignment_id, %(round)s, item.image_id, item.person_id, batch.guidelines_id, 0,"
        " trim(item.text), item.text, CASE WHEN item.assignment_id %% 25 = 0 THEN '[\"short\"]' ELSE '[]' END"
        + ("::jsonb" if connection.vendor == "postgresql" else "")
        + ", 'counted', batch.submitted_at FROM annotation_captionitem AS item"
        " JOIN annotation_captionbatch AS batch ON batch.lease_id = item.batch_id"
        " WHERE batch.round_id = %(round)s AND batch.stage = 'submitted'",
    ]


def numbers_query(count: int) -> str:
    """Return a query of n from 1 to `count`."""
    if connection.vendor == "postgresql":
        return f"SELECT n FROM generate_series(1, {count}) AS numbers(n)"
    up_to = f"SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count}"
    return f"WITH RECURSIVE numbers(n) AS ({up_to}) SELECT n FROM numbers"


def _statements() -> list[str]:
    """Statements with %(…)s parameters; `{{numbers}}` is a query of 1..n."""
    is_postgres = connection.vendor == "postgresql"
    random_id = "gen_random_uuid()" if is_postgres else "lower(hex(randomblob(16)))"
    digest = "md5(%(name)s || n) || md5('' || n)" if is_postgres else "lower(hex(randomblob(32)))"
    shuffled = "(random() * 2147483647)::int" if is_postgres else "abs(random()) %% 2147483648"
    empty = "'{{}}'"
    return [
        (
            "INSERT INTO images_image (public_id, sha256, original, format, bytes, width, height, title, author,"
            " licence, licence_url, source, extra, created_at, state, attempts, error)"
            f" SELECT {random_id}, {digest}, '', 'JPEG', 1000, 1024, 768, '', 'An Author', 'CC BY 4.0', '', %(name)s,"
            f" {empty}, CURRENT_TIMESTAMP, 'done', 0, '' FROM ({{numbers}}) AS all_numbers"
        ),
        (
            "INSERT INTO images_collectionimage (collection_id, image_id, key, file_name, position, exclusion_reason)"
            " SELECT %(collection)s, id, 'image-' || id, '', id, '' FROM images_image WHERE source = %(name)s"
        ),
        (
            "INSERT INTO inference_modelcaption (model_id, image_id, language_id, text, stabiliser, created_at)"
            " SELECT %(model)s, id, 'en', 'A small dog runs over the grass beside a red ball.', '', CURRENT_TIMESTAMP"
            " FROM images_image WHERE source = %(name)s"
        ),
        (
            "INSERT INTO allocation_task (pool_id, shuffle_key, places, places_taken)"
            f" SELECT %(pool)s, {shuffled}, %(places)s, 0 FROM images_image WHERE source = %(name)s"
        ),
        (
            "INSERT INTO annotation_captiontask (task_id, round_id, image_id, english_id)"
            " SELECT task.id, %(round)s, image.image_id, image.id FROM"
            " (SELECT id, row_number() OVER (ORDER BY id) AS n FROM allocation_task WHERE pool_id = %(pool)s) AS task"
            " JOIN (SELECT id, image_id, row_number() OVER (ORDER BY id) AS n FROM inference_modelcaption"
            " WHERE model_id = %(model)s) AS image ON task.n = image.n"
        ),
    ]


def make_annotators(round: Round, count: int) -> list[User]:
    return _make_members(round.project, count, Role.ANNOTATOR)


def make_raters(comparison: Comparison, count: int) -> list[User]:
    """The annotators of before, or new ones, who may judge."""
    return _make_members(comparison.project, count, Role.RATER)


def _make_members(project: Project, count: int, role: Role) -> list[User]:
    people = _make_people(count)
    text = ConsentText.objects.get(project=project)
    for user in people:
        Membership.objects.create(project=project, user=user, role=role)
        Consent.objects.create(text=text, user=user, given_at="2026-01-01T00:00Z")
    return people


def _make_people(count: int) -> list[User]:
    people = []
    for number in range(count):
        user, is_new = User.objects.get_or_create(username=f"bench-{number}", defaults={"reads_english": True})
        if is_new:
            LanguageSkill.objects.create(user=user, language_id="de", level=LanguageLevel.NATIVE)
        people.append(user)
    return people


def signed_in(person: User) -> dict[str, str]:
    """Return the cookies of a new session of `person`: hashing passwords would take most of a measurement's time."""
    client = Client()
    client.force_login(person)
    return {
        settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value,
        settings.CSRF_COOKIE_NAME: TOKEN,
    }
