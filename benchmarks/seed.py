"""A database of a given size, written in SQL so that a million images take half a minute."""

from __future__ import annotations

from django.db import connection, transaction

from annotation.models import Guidelines, Round
from annotation.services.rounds import create_round
from benchmarks.people import PASSWORD, name_of
from corpus.models import Collection
from inference.models import CaptioningModel
from languages.models import Language
from people.models import Consent, ConsentText, LanguageSkill, Level, Membership, Project, Role, User


def make_round(name: str, images: int, *, batch_size: int = 15, replication: int = 2) -> Round:
    """A round of German captions over `images` invented images, each described by one model."""
    manager, _ = User.objects.get_or_create(username="bench-manager")
    project = Project.objects.create(slug=name, name=name, created_by=manager)
    Guidelines.objects.create(project=project, version=1, rating="Choose.", writing="Write.")
    ConsentText.objects.create(project=project, version=1, body="I agree.")
    collection = Collection.objects.create(slug=name, name=name)
    model = CaptioningModel.objects.create(name=name)
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
                statement.format(numbers=_numbers(images)),
                {
                    "name": name,
                    "collection": collection.pk,
                    "model": model.pk,
                    "round": round.pk,
                    "pool": round.pool_id,
                    "places": replication,
                },
            )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return round


def _numbers(count: int) -> str:
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
            "INSERT INTO corpus_image (public_id, sha256, original, format, bytes, width, height, title, author,"
            " licence, licence_url, source, extra, created_at, sizes_state, sizes_attempts, sizes_error)"
            f" SELECT {uuid}, {digest}, '', 'JPEG', 1000, 1024, 768, '', 'An Author', 'CC BY 4.0', '', %(name)s,"
            f" {empty}, CURRENT_TIMESTAMP, 'done', 0, '' FROM ({{numbers}}) AS all_numbers"
        ),
        (
            "INSERT INTO corpus_collectionimage (collection_id, image_id, key, file_name, position)"
            " SELECT %(collection)s, id, 'image-' || id, '', id FROM corpus_image WHERE source = %(name)s"
        ),
        (
            "INSERT INTO inference_modelcaption (model_id, image_id, language_id, text, created_at)"
            " SELECT %(model)s, id, 'en', 'A small dog runs over the grass beside a red ball.', CURRENT_TIMESTAMP"
            " FROM corpus_image WHERE source = %(name)s"
        ),
        (
            "INSERT INTO allocation_task (pool_id, shuffle_key, places, places_taken)"
            f" SELECT %(pool)s, {shuffled}, %(places)s, 0 FROM corpus_image WHERE source = %(name)s"
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
    people = []
    for number in range(count):
        user, is_new = User.objects.get_or_create(username=name_of(number), defaults={"reads_english": True})
        if is_new:
            if with_password:
                user.set_password(PASSWORD)
                user.save()
            LanguageSkill.objects.create(user=user, language_id="de", level=Level.NATIVE)
        Membership.objects.create(project=round.project, user=user, role=Role.ANNOTATOR)
        Consent.objects.create(text=text, user=user, given_at="2026-01-01T00:00Z")
        people.append(user)
    return people
