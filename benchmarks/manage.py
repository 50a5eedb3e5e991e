"""How long the manager's pages take on the server: `python -m benchmarks.manage`, in an empty database.

    python -m benchmarks.manage [--languages 36] [--images 3600] [--people 200] [--times 40]

Run in the environment of the database to measure. Every image has two captions in every language, but for the batches
in hand; every person writes in several languages. A pilot, its rating and a verification of each language add to the
tallies that pages read. The baseline is the same numbers counted from the rows, as one would without tallies.
"""

from __future__ import annotations

import argparse
import random
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import django

django.setup()

from django.db import connection, transaction
from django.db.models import Count, F, Sum
from django.test import Client
from django.utils import timezone

from allocation.models import Batch, BatchState
from allocation.selectors import progress_of_pools
from annotation.models import Caption, CaptionBatch, Round, RoundKind, RoundState, Stage, Tally
from annotation.rules.tallies import COLUMNS
from annotation.selectors.statistics import project_statistics
from annotation.services import figures, tallies
from annotation.services.rounds import create_round
from benchmarks import seed
from benchmarks.harness import arguments, summary_of, tell, timed
from languages.models import Language
from people.models import LanguageSkill, Level, Membership, Project, Role, User

BATCH, REPLICATION, OPEN_PER_ROUND, EXPIRED_PER_ROUND, DAYS = 15, 2, 5, 20, 40
LANGUAGES_EACH = 2
TEXT = "Ein kleiner Hund läuft über die grüne Wiese und spielt mit einem roten Ball, während zwei Kinder zusehen. " * 2


def main() -> None:
    options = arguments(__doc__, languages=36, images=3600, people=200, times=40)
    seed.migrate()
    seeding_s, _, project = timed(lambda: _seed(options))
    computed = [partial(figures.compute, round_id=pk, now=timezone.now()) for pk in _mains(project)]
    captions = Caption.objects.count()
    result: dict[str, Any] = {
        "database": connection.vendor,
        "languages": options.languages,
        "captions": captions,
        "tallies": Tally.objects.count(),
        "rounds": Round.objects.count(),
        "seeding_s": round(seeding_s),
        "background_per_round": summary_of(computed),
        "pages": _pages(project, options.times),
        "counted": _counted(project, max(3, options.times // 10)),
    }
    lines = [f"Managers' pages, {captions:,} captions in {options.languages} languages, {connection.vendor}:"]
    for name, page in result["pages"].items():
        lines.append(f"  {name:22} p50 {page['median_ms']:7.1f} ms   p95 {page['p95_ms']:7.1f} ms")
    for name, counted in result["counted"].items():
        lines.append(f"  the numbers of {name!r} by counting, without a page: {counted['median_ms']:.0f} ms")
    tell(result, "\n".join(lines))


def _pages(project: Project, times: int) -> dict[str, dict[str, float]]:
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(project.created_by)
    busiest = Tally.objects.values("person").annotate(number=Count("pk")).order_by("-number", "person")[0]["person"]
    base = f"/projects/{project.slug}/"
    addresses = {
        "projects": "/projects/",
        "project": base,
        "project, all rounds": f"{base}?rounds=all",
        "annotators": f"{base}annotators/",
        "one annotator": f"{base}annotators/{busiest}/",
        "plots": f"{base}plots/",
        "statistics": f"{base}statistics/",
        "quality": f"{base}quality/",
    }
    pages = {}
    for name, address in addresses.items():
        assert client.get(address, secure=True).status_code == 200, address
        pages[name] = summary_of([partial(client.get, address, secure=True)] * times)
    poll = f"{base}progress/"
    seen = client.get(poll, secure=True).content.decode().split("seen=")[1].split('"')[0]
    assert client.get(poll, {"seen": seen}, secure=True).status_code == 204
    pages["project, asked again"] = summary_of([partial(client.get, poll, {"seen": seen}, secure=True)] * times)
    return pages


def _counted(project: Project, times: int) -> dict[str, dict[str, float]]:
    """The numbers alone, without a page around them."""
    return {
        "project": summary_of([partial(_count_progress, project)] * times),
        "annotators": summary_of([partial(_count_people, project)] * times),
        "statistics": summary_of([lambda: dict(project_statistics(project))] * 3),
    }


def _count_progress(project: Project) -> object:
    pools = list(project.rounds.values_list("pool", flat=True))
    work = project.rounds.values("pk").annotate(
        number=Count("captions"), ms=Sum(F("captions__item__rating_ms") + F("captions__item__writing_ms"))
    )
    return progress_of_pools(pools, now=timezone.now()), list(work), _days(project)


def _count_people(project: Project) -> object:
    captions = Caption.objects.counted().filter(round__project=project).values("round", "author")
    work = captions.annotate(number=Count("pk"), ms=Sum(F("item__rating_ms") + F("item__writing_ms")))
    return list(work), _days(project)


def _days(project: Project) -> object:
    recent = Caption.objects.counted().filter(
        round__project=project, submitted_at__gt=timezone.now() - timedelta(days=7)
    )
    return list(recent.values("round", "author").annotate(number=Count("pk")))


def _seed(options: argparse.Namespace) -> Project:
    first = seed.make_round("manage", options.images, replication=REPLICATION)
    project = first.project
    Membership.objects.create(project=project, user=project.created_by, role=Role.MANAGER)
    people = User.objects.bulk_create(
        User(username=f"annotator-{number}", email=f"a{number}@example.org", password="!", reads_english=True)
        for number in range(options.people)
    )
    Membership.objects.bulk_create(Membership(project=project, user=one, role=Role.ANNOTATOR) for one in people)
    tags = ["de", *Language.objects.exclude(pk="de").order_by("pk").values_list("pk", flat=True)]
    tags = tags[: options.languages]
    rng, now = random.Random(1), timezone.now()
    for number, tag in enumerate(tags):
        main = first if tag == "de" else _main(first, tag)
        team = [person for at, person in enumerate(people) if _works_in(at, number, len(tags))]
        LanguageSkill.objects.bulk_create(
            LanguageSkill(user=person, language_id=tag, level=Level.NATIVE) for person in team
        )
        _write(main, team, images=options.images, now=now, rng=rng)
        figures.places_changed(round=main)
        for person in team:
            tallies.recount(round=main, person=person)
        _other_rounds(main)
    seed.analyse()
    return project


def _works_in(person: int, language: int, languages: int) -> bool:
    return any((person + step * 7) % languages == language for step in range(LANGUAGES_EACH))


def _main(first: Round, tag: str) -> Round:
    return create_round(
        project=first.project,
        language=Language.objects.get(pk=tag),
        collection=first.collection,
        captioners=first.captioners.all(),
        replication=REPLICATION,
        seed=1,
    )


def _write(round: Round, team: Sequence[User], *, images: int, now: datetime, rng: random.Random) -> None:
    """Captions of all images but those in hand, in SQL; a batch is a group of images that come one after the other."""
    groups = range(-(-images // BATCH))
    rows: list[tuple[Batch, int]] = []
    still_open = 0
    for copy in range(REPLICATION):
        for group in groups:
            is_open = copy == 0 and still_open < min(OPEN_PER_ROUND, len(team)) and group >= len(groups) - len(team)
            still_open += is_open
            at = now - timedelta(days=rng.random() * DAYS)
            state = BatchState.OPEN if is_open else BatchState.DONE
            person = team[(group + copy) % len(team)]
            rows.append((_batch(round, person, state, at, now), group))
    expired = [_batch(round, rng.choice(team), BatchState.EXPIRED, now, now) for _ in range(EXPIRED_PER_ROUND)]
    Batch.objects.bulk_create([*(batch for batch, _ in rows), *expired], batch_size=1000)
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
        for statement in _statements():
            cursor.execute(statement, {"pool": round.pool_id, "round": round.pk, "batch": BATCH, "text": TEXT})


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


def _statements() -> list[str]:
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
            " rating, rated_at, rating_ms, text, revision, saved_at, writing_ms)"
            " SELECT own.id, own.batch_id, own.person_id, own.position, what.image_id, what.english_id,"
            " CASE (own.id * 7919 + own.person_id * 31 + what.image_id * 13) %% 10"
            " WHEN 0 THEN 'BAD' WHEN 1 THEN 'BAD' WHEN 2 THEN 'MEDIUM' WHEN 3 THEN 'MEDIUM'"
            " WHEN 4 THEN 'NOT-ENOUGH-INFO' WHEN 5 THEN 'EXCELLENT' WHEN 6 THEN 'EXCELLENT' ELSE 'GOOD' END,"
            " batch.taken_at, 4000 + own.id %% 5000, substr(%(text)s, 1, 24 + CAST(own.id * 37 %% 90 AS int)), 1,"
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


def _other_rounds(main: Round) -> None:
    """A pilot, its rating and a verification, of which pages read the tallies alone."""
    settings: dict[str, Any] = {
        "project": main.project,
        "language": main.language,
        "collection": main.collection,
        "captioners": [],
        "seed": 1,
        "with_tasks": False,
    }
    pilot = create_round(kind=RoundKind.PILOT, **settings)
    made = [pilot]
    for number, verified in enumerate((pilot, main), 1):
        with transaction.atomic():
            rating = Round(
                project=main.project,
                language=main.language,
                kind=RoundKind.VERIFICATION,
                number=number,
                verifies=verified,
                collection=main.collection,
                guidelines_id=main.guidelines_id,
                pool=type(main.pool).objects.create(replication=3),
                seed=1,
            )
            rating.save()
        made.append(rating)
    now = timezone.now()
    Round.objects.filter(pk__in=[one.pk for one in made]).update(
        awaits_tasks=False, state=RoundState.ACCEPTED, decided_at=now
    )
    for one in made:
        figures.places_changed(round=one)
        Tally.objects.bulk_create(
            Tally(round=one, person_id=own.person_id, **{name: getattr(own, name) for name in COLUMNS})
            for own in Tally.objects.filter(round=main)
        )


def _mains(project: Project) -> list[int]:
    return list(project.rounds.filter(kind=RoundKind.MAIN).values_list("pk", flat=True))


if __name__ == "__main__":
    main()
