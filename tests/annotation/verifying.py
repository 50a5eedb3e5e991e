"""Captions of others to rate: a round whose captions are there, the round that verifies it, and people who rate."""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import Any

from annotation.models import Rating, Round, RoundKind, RoundState, VerificationBatch
from annotation.services import verification as services
from core.allocation.models import Pool
from core.people.models import LanguageLevel, LanguageSkill, Role, User
from tests.annotation.submitting import make_captions
from tests.factories import NOW, join_project, make_round, make_user


def make_captioned_round(*, images: int = 4, captions: int = 2, **fields: Any) -> tuple[Round, list[User]]:
    """A round with `captions` of each image, and their authors."""
    round = make_round(images=images, replication=captions, **fields)
    entries = round.collection.entries.order_by("position")
    authors = make_captions(
        round, {entry.image_id: [f"Bild {entry.position}, Satz {n}" for n in range(captions)] for entry in entries}
    )
    return round, authors


def make_verification(verified: Round, *, places: int = 3, filled: bool = True, **fields: Any) -> Round:
    pool = Pool.objects.create(replication=places, batch_size=fields.pop("batch_size", 5), lease_s=24 * 3600)
    round = Round.objects.create(
        **{
            "project": verified.project,
            "language": verified.language,
            "kind": RoundKind.VERIFICATION,
            "verifies": verified,
            "collection": verified.collection,
            "pool": pool,
            "guidelines": verified.guidelines,
            "state": RoundState.OPEN,
            "seed": 1,
            "awaits_tasks": True,
            "opened_at": NOW,
        }
        | fields
    )
    if filled:
        services.fill_verification(round_id=round.pk)
        round.refresh_from_db()
    return round


def make_reviewer(round: Round, name: str | None = None, role: Role = Role.RATER) -> User:
    """Somebody who may rate captions in `round` and reads no English."""
    user = make_user(name)
    LanguageSkill.objects.create(user=user, language=round.language, level=LanguageLevel.NATIVE)
    join_project(round.project, user, role)
    return user


def take(round: Round, rater: User, now: datetime = NOW, seed: int = 0) -> VerificationBatch | None:
    return services.take_batch(round=round, person=rater, now=now, rng=Random(seed))


def rate(batch: VerificationBatch, rater: User, rating: Rating = Rating.GOOD, now: datetime = NOW) -> None:
    ratings = dict.fromkeys(batch.verdicts.values_list("position", flat=True), rating)
    services.save_verdicts(batch_id=batch.pk, person=rater, ratings=ratings, now=now)


def submit(batch: VerificationBatch, rater: User, now: datetime = NOW) -> VerificationBatch:
    return services.submit_batch(batch_id=batch.pk, person=rater, now=now)


def rate_all(round: Round, rater: User, rating: Rating = Rating.GOOD, now: datetime = NOW) -> int:
    """Rate all that comes to `rater` and hand it in; returns how many captions that were."""
    rated = 0
    while batch := take(round, rater, now):
        rate(batch, rater, rating, now)
        rated += submit(batch, rater, now).verdicts.count()
    return rated
