"""A project as programs find it: captions and ratings handed in, work in hand on each stage, feedback, a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.utils import timezone

from annotation.models import CaptionBatch, Feedback, Rating, Release, Round, RoundKind, VerificationBatch
from annotation.services import batches
from core.jobs.models import JobState
from core.people.models import Project, User
from core.people.services import tokens
from tests.annotation.submitting import submit_captions, take
from tests.annotation.verifying import make_reviewer, make_verification
from tests.annotation.verifying import take as take_to_rate
from tests.factories import make_annotator, make_collection, make_project, make_round

WRITTEN = "Ein Bild von etwas"


@dataclass
class Seeded:
    """`ann` is rating one batch, writing another one and has handed in a third; `rae` rates what was written."""

    project: Project
    manager: User
    ann: User
    rae: User
    main: Round
    verification: Round
    submitted: CaptionBatch
    rating: CaptionBatch
    writing: CaptionBatch
    to_rate: VerificationBatch
    feedback: Feedback

    def known(self) -> dict[str, list[Any]]:
        """What stands for each argument of an address."""
        return {
            "slug": [self.project.slug],
            "round_id": [self.main.pk, self.verification.pk],
            "batch_id": [str(batch.pk) for batch in (self.rating, self.writing, self.submitted, self.to_rate)],
            "position": [1, 2],
            "layout": ["jsonl", "csv", "xm3600"],
            "feedback_id": [self.feedback.pk],
            "number": [1],
            "name": ["manifest.json"],
        }


def make_seeded(slug: str = "lions") -> Seeded:
    """In the present, as the API asks the clock."""
    now = timezone.now()
    project = make_project(slug)
    fields: dict[str, Any] = {"project": project, "batch_size": 3}
    main = make_round(images=9, replication=3, collection=make_collection(9), **fields)
    pilot = make_round(kind=RoundKind.PILOT, number=1, language="fr", **fields)
    another = make_round(language="es", **fields)
    ann = make_annotator(main, f"ann-{slug}")
    for language in ("fr", "es"):
        ann.language_skills.create(language_id=language, level="native")
    bob = make_annotator(main, f"bob-{slug}")
    submit_captions(main, bob, WRITTEN, now=now)
    submitted = submit_captions(main, ann, WRITTEN, now=now)
    writing = take(another, ann, now=now)
    positions = list(writing.items.values_list("position", flat=True))
    ratings = dict.fromkeys(positions, Rating.GOOD)
    batches.save_ratings(batch_id=writing.pk, person=ann, ratings=ratings, now=now)
    batches.open_writing(batch_id=writing.pk, person=ann, now=now)
    verification = make_verification(main, places=2)
    rae = make_reviewer(verification, f"rae-{slug}")
    feedback = Feedback.objects.create(
        project=project, round=main, person=bob, text="Name the animals.", by=project.created_by, at=now
    )
    return Seeded(
        project=project,
        manager=project.created_by,
        ann=ann,
        rae=rae,
        main=main,
        verification=verification,
        submitted=submitted,
        rating=take(pilot, ann, now=now),
        writing=CaptionBatch.objects.get(pk=writing.pk),
        to_rate=take_to_rate(verification, rae, now),
        feedback=feedback,
    )


def make_failed_release(project: Project) -> Release:
    return Release.objects.create(
        project=project,
        number=1,
        title="Lions",
        licence="CC-BY-4.0",
        authors="Manager",
        salt="x",
        until=timezone.now(),
        state=JobState.FAILED,
        error="No.",
        created_at=timezone.now(),
        created_by=project.created_by,
    )


class Program:
    """Asks as a program does: by a token, in JSON."""

    def __init__(self, user: User, *, may_write: bool = True) -> None:
        now = timezone.now()
        made = tokens.make_token(
            user=user, name="tests", may_write=may_write, expires_at=now + tokens.MAX_LIFETIME, now=now
        )
        self.headers = {"Authorization": f"Bearer {made.token}"}
        self.client = Client()

    def get(self, address: str, **query: Any) -> Any:
        return self.client.get(address, query, headers=self.headers)

    def put(self, address: str, **sent: Any) -> Any:
        return self.client.put(address, sent, content_type="application/json", headers=self.headers)

    def post(self, address: str, **sent: Any) -> Any:
        return self.client.post(address, sent, content_type="application/json", headers=self.headers)

    def patch(self, address: str, **sent: Any) -> Any:
        return self.client.patch(address, sent, content_type="application/json", headers=self.headers)

    def delete(self, address: str) -> Any:
        return self.client.delete(address, headers=self.headers)

    def all_of(self, address: str, **query: Any) -> list[dict[str, Any]]:
        """All rows of a list, page by page."""
        rows: list[dict[str, Any]] = []
        answer = self.get(address, **query).json()
        rows += answer["results"]
        while answer["next"]:
            answer = self.get(answer["next"]).json()
            rows += answer["results"]
        return rows
