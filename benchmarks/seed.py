"""A database of a given size, written in SQL so that a million images take half a minute."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from django.core.management import call_command
from django.db import connection, transaction

from allocation.models import Assignment, AssignmentState, Batch, BatchState, Task
from annotation.models import Guidelines, Round
from annotation.services.rounds import create_round
from benchmarks.harness import PASSWORD, name_of
from images.models import Collection
from inference.models import CaptioningModel, ModelCaption
from languages.models import Language
from people.models import Consent, ConsentText, LanguageSkill, Level, Membership, Project, Role, User
from sxs_eval.models import Comparison, Instructions, Judgement, JudgingBatch, Pair
from sxs_eval.services.comparisons import Setting, create_comparison

ANSWERS = (3, 2, 2, 1, 1, 0, 0, -1, -1, -2, -3)
"""What raters say, a little more often for the test model."""


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
                statement.format(numbers=numbers(images)),
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


def lay_out(round: Round, *, model: CaptioningModel) -> None:
    """A task for each image that `model` has described, of a round without any."""
    about = {"model": model.pk, "round": round.pk, "pool": round.pool_id, "places": round.replication}
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in _statements()[-2:]:
            cursor.execute(statement, about | {"name": model.name})


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
        setting=Setting(replication=replication, seed=1),
        by=None,
        with_pairs=True,
    )


def make_raters(comparison: Comparison, count: int, *, with_password: bool = True) -> list[User]:
    """The annotators of before, or new ones, who may judge."""
    people = make_people(count, with_password=with_password)
    text = ConsentText.objects.get(project=comparison.project)
    for user in people:
        Membership.objects.create(project=comparison.project, user=user, role=Role.RATER)
        Consent.objects.create(text=text, user=user, given_at="2026-01-01T00:00Z")
    return people


def judge_all(comparison: Comparison, *, raters: int, replication: int) -> int:
    """Answers to every pair, written as they would be stored after the fact; returns how many."""
    people = make_raters(comparison, raters, with_password=False)
    rng = random.Random(1)
    instructions = Instructions.objects.get(project=comparison.project)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    batches = {
        user.pk: Batch(pool=comparison.pool, person=user, state=BatchState.DONE, taken_at=now, lease_s=1, deadline=now)
        for user in people
    }
    Batch.objects.bulk_create(batches.values())
    JudgingBatch.objects.bulk_create(
        JudgingBatch(lease=batch, comparison=comparison, instructions=instructions) for batch in batches.values()
    )
    positions = dict.fromkeys(batches, 0)
    rows = []
    for pair_id, task_id in Pair.objects.filter(comparison=comparison).values_list("pk", "task_id"):
        for user in rng.sample(people, replication):
            positions[user.pk] += 1
            rows.append((pair_id, task_id, user.pk, positions[user.pk], rng.random() < 0.5, rng.choice(ANSWERS)))
    assignments = Assignment.objects.bulk_create(
        (
            Assignment(task_id=task, batch=batches[user], person_id=user, position=position, state=AssignmentState.DONE)
            for _, task, user, position, _, _ in rows
        ),
        batch_size=2000,
    )
    Judgement.objects.bulk_create(
        (
            Judgement(
                batch_id=batches[user].pk,
                position=position,
                comparison=comparison,
                scale=comparison.scale,
                person_id=user,
                assignment=assignment,
                pair_id=pair,
                test_is_left=is_left,
                choice=score if is_left else -score,
                score=score,
                judged_at=now,
                active_ms=9000,
            )
            for (pair, _, user, position, is_left, score), assignment in zip(rows, assignments, strict=True)
        ),
        batch_size=2000,
    )
    Task.objects.filter(pool=comparison.pool).update(places_taken=replication)
    return len(rows)


def numbers(count: int) -> str:
    """Return a query of n from 1 to `count`."""
    if connection.vendor == "postgresql":
        return f"SELECT n FROM generate_series(1, {count}) AS numbers(n)"
    up_to = f"SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count}"
    return f"WITH RECURSIVE numbers(n) AS ({up_to}) SELECT n FROM numbers"


def _statements() -> list[str]:
    """Statements with %(…)s parameters; `{{numbers}}` is a query of 1..n."""
    is_postgres = connection.vendor == "postgresql"
    uuid = "gen_random_uuid()" if is_postgres else "lower(hex(randomblob(16)))"
    digest = "md5(%(name)s || n) || md5('' || n)" if is_postgres else "lower(hex(randomblob(32)))"
    shuffled = "(random() * 2147483647)::int" if is_postgres else "abs(random()) %% 2147483648"
    empty = "'{{}}'"
    return [
        (
            "INSERT INTO images_image (public_id, sha256, original, format, bytes, width, height, title, author,"
            " licence, licence_url, source, extra, created_at, sizes_state, sizes_attempts, sizes_error)"
            f" SELECT {uuid}, {digest}, '', 'JPEG', 1000, 1024, 768, '', 'An Author', 'CC BY 4.0', '', %(name)s,"
            f" {empty}, CURRENT_TIMESTAMP, 'done', 0, '' FROM ({{numbers}}) AS all_numbers"
        ),
        (
            "INSERT INTO images_collectionimage (collection_id, image_id, key, file_name, position)"
            " SELECT %(collection)s, id, 'image-' || id, '', id FROM images_image WHERE source = %(name)s"
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


def make_annotators(round: Round, count: int, *, with_password: bool = True) -> list[User]:
    text = ConsentText.objects.get(project=round.project)
    people = make_people(count, with_password=with_password)
    for user in people:
        Membership.objects.create(project=round.project, user=user, role=Role.ANNOTATOR)
        Consent.objects.create(text=text, user=user, given_at="2026-01-01T00:00Z")
    return people


def make_people(count: int, *, with_password: bool) -> list[User]:
    people = []
    for number in range(count):
        user, is_new = User.objects.get_or_create(username=name_of(number), defaults={"reads_english": True})
        if is_new:
            if with_password:
                user.set_password(PASSWORD)
                user.save()
            LanguageSkill.objects.create(user=user, language_id="de", level=Level.NATIVE)
        people.append(user)
    return people
