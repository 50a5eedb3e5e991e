"""How long the manager's pages take on the server: `python -m tools.benchmarks.manage`, in an empty database.

    python -m tools.benchmarks.manage [--languages 36] [--images 3600] [--people 200] [--times 40]

Run in the environment of the database to measure. Every image has two captions in every language, but for the batches
that are assigned; every person writes in several languages. A pilot, its rating and a verification of each language add
to the tallies that pages read. The figures of all rounds are computed, and then somebody submits in every main round,
as while all languages are being worked on: pages read those tallies anew.
"""

from __future__ import annotations

import argparse
import gc
import random
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import django

django.setup()

from django.db import connection, transaction
from django.db.models import Count, F, Max
from django.test import Client
from django.utils import timezone

from annotation.models import Caption, Round, RoundKind, RoundState, Tally
from annotation.rules.tallies import COLUMNS
from annotation.services import figures, tallies
from annotation.services.rounds import create_round
from core.languages.models import Language
from core.people.models import LanguageLevel, LanguageSkill, Membership, Project, Role, User
from core.people.services.invitations import InvitationMailing, NewInvitation, invite_many
from office.recruitment.models import HourlyRate
from tools.benchmarks import seed
from tools.benchmarks.harness import arguments, print_result, summary_of, timed_call

REPLICATION, OPEN_PER_ROUND, EXPIRED_PER_ROUND = 2, 5, 20
LANGUAGES_EACH = 2
SENTENCE = "Ein kleiner Hund läuft über die grüne Wiese und spielt mit einem roten Ball, während zwei Kinder zusehen. "
TEXT = f"substr('{2 * SENTENCE}', 1, 24 + CAST(own.id * 37 %% 90 AS int))"


def main() -> None:
    options = arguments(__doc__, languages=36, images=3600, people=200, times=40)
    seed.migrate()
    seeding_s, _, project = timed_call(lambda: _seed(options))
    for pk in project.rounds.order_by("pk").values_list("pk", flat=True):
        figures.compute(round_id=pk, now=timezone.now())
    captions = Caption.objects.count()
    result: dict[str, Any] = {
        "database": connection.vendor,
        "languages": options.languages,
        "captions": captions,
        "tallies": Tally.objects.count(),
        "rounds": Round.objects.count(),
        "seeding_s": round(seeding_s),
        "submitted_since": _submit_since(project),
        "pages": _pages(project, options.times),
    }
    lines = [f"Managers' pages, {captions:,} captions in {options.languages} languages, {connection.vendor}:"]
    for name, page in result["pages"].items():
        lines.append(f"  {name:22} p50 {page['median_ms']:7.1f} ms   p95 {page['p95_ms']:7.1f} ms")
    print_result(result, "\n".join(lines))


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
        "invitations": f"{base}people/invitations/",
        "hours and cost": f"{base}costs/",
        "needs you": "/needs/",
    }
    pages = {}
    # As config/wsgi.py does in a web process, which has not written all these captions.
    gc.collect()
    gc.freeze()
    for name, address in addresses.items():
        assert client.get(address, secure=True).status_code == 200, address
        pages[name] = summary_of([partial(client.get, address, secure=True)] * times)
    poll = f"{base}progress/"
    seen = client.get(poll, secure=True).content.decode().split("seen=")[1].split('"')[0]
    assert client.get(poll, {"seen": seen}, secure=True).status_code == 204
    pages["project, asked again"] = summary_of([partial(client.get, poll, {"seen": seen}, secure=True)] * times)
    return pages


def _submit_since(project: Project) -> int:
    """Let a tally of each main round be newer than the round's figures."""
    of_mains = Tally.objects.filter(round__in=_mains(project)).order_by().values("round")
    newest = list(of_mains.annotate(newest=Max("pk")).values_list("newest", flat=True))
    return Tally.objects.filter(pk__in=newest).update(revision=F("revision") + 1)


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
        main = first if tag == "de" else seed.add_round(first, Language.objects.get(pk=tag))
        team = [person for at, person in enumerate(people) if _works_in(at, number, len(tags))]
        LanguageSkill.objects.bulk_create(
            LanguageSkill(user=person, language_id=tag, level=LanguageLevel.NATIVE) for person in team
        )
        seed.write_captions(
            main,
            team,
            images=options.images,
            now=now,
            rng=rng,
            text=TEXT,
            assigned=OPEN_PER_ROUND,
            expired=EXPIRED_PER_ROUND,
        )
        figures.places_changed(round=main)
        for person in team:
            tallies.recount(round=main, person=person)
        _other_rounds(main)
    _invite(project, people)
    seed.analyse()
    return project


def _invite(project: Project, people: Sequence[User]) -> None:
    """An invitation for each person and a link for each language."""
    languages = Language.objects.all()
    wanted = [NewInvitation(Role.ANNOTATOR, languages=[language], places=5) for language in languages]
    wanted += [NewInvitation(Role.ANNOTATOR, languages=languages[:2], email=one.email) for one in people]
    mailing, now = InvitationMailing(by=project.created_by, site="https://example.org/"), timezone.now()
    about: dict[str, Any] = {"expires_at": now + timedelta(days=14), "created_by": project.created_by}
    invite_many(project=project, wanted=wanted, mailing=mailing, now=now, **about)
    HourlyRate.objects.create(project=project, rate=12, currency="EUR")


def _works_in(person: int, language: int, languages: int) -> bool:
    return any((person + step * 7) % languages == language for step in range(LANGUAGES_EACH))


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
