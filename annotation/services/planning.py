"""Planning the next rounds of a language: another pilot, none, or a rating of captions; one transaction each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Round, RoundKind, RoundState
from annotation.rules import campaign as rules
from annotation.rules.campaign import PILOT_IMAGES, REVIEWERS_PER_CAPTION
from annotation.selectors.campaign import steps_of
from annotation.services.campaign import (
    StepNotAllowedError,
    create_verification,
    locked_rounds,
    record_of_round,
    refuse,
    step_in,
)
from annotation.services.rounds import create_round
from core.languages.models import Language
from core.people.models import Project, User


def plan_pilot(
    *, project: Project, language: Language, seed: int, sample_size: int = PILOT_IMAGES, by: User, now: datetime
) -> Round:
    """Plan the next pilot of a language, and its rating; by default like its last round.

    Raises StepNotAllowedError.
    """
    with transaction.atomic():
        rounds = locked_rounds(project, language)
        pilot = _next_pilot(rounds, state=RoundState.PLANNED, seed=seed, size=sample_size)
        number = _next_number(rounds, RoundKind.VERIFICATION)
        create_verification(pilot, number=number, sample_size=None, reviewers=_reviewers_so_far(pilot, rounds))
        details = {"sample_size": sample_size, "seed": seed, "collection": pilot.collection.slug}
        record_of_round(pilot, "planned", by=by, now=now, **details)
    return pilot


def skip_pilot(*, project: Project, language: Language, reason: str, by: User, now: datetime) -> Round:
    """Record why a language without a pilot under way gets no (further) one.

    Raises StepNotAllowedError.
    """
    with transaction.atomic():
        rounds = locked_rounds(project, language)
        pilot = _next_pilot(rounds, state=RoundState.SKIPPED, seed=0, size=None, reason=reason, by=by, now=now)
        record_of_round(pilot, "skipped", by=by, now=now, reason=reason)
    return pilot


def plan_verification(*, of: Round, seed: int, sample_size: int | None = None, by: User, now: datetime) -> Round:
    """Plan a round that rates the captions of `of`: one of each of `sample_size` images, or all if None.

    Raises StepNotAllowedError.
    """
    with transaction.atomic():
        rounds = locked_rounds(of.project, of.language)
        refuse(rules.why_no_verification(step_in(of, rounds), steps_of(rounds)))
        number = _next_number(rounds, RoundKind.VERIFICATION)
        reviewers = _reviewers_so_far(of, rounds)
        planned = create_verification(of, number=number, sample_size=sample_size, seed=seed, reviewers=reviewers)
        record_of_round(planned, "planned", by=by, now=now, sample_size=sample_size, seed=seed)
    return planned


def _next_pilot(rounds: Sequence[Round], *, state: RoundState, seed: int, size: int | None, **decision: Any) -> Round:
    refuse(rules.why_no_pilot(steps_of(rounds)))
    captioning = [each for each in rounds if each.kind != RoundKind.VERIFICATION]
    if not captioning:
        raise StepNotAllowedError(_("This language is not in the project. Add it first."))
    like = max(captioning, key=lambda each: (each.kind == RoundKind.PILOT, each.number))
    return create_round(
        project=like.project,
        language=like.language,
        collection=like.collection,
        captioners=list(like.captioners.all()),
        replication=like.pool.replication,
        batch_size=like.pool.batch_size,
        lease_s=like.pool.lease_s,
        seed=seed,
        kind=RoundKind.PILOT,
        number=_next_number(rounds, RoundKind.PILOT),
        state=state,
        sample_size=size,
        **decision,
    )


def _reviewers_so_far(of: Round, rounds: Sequence[Round]) -> int:
    """Return the replication of the last round that verified one of this kind."""
    before = [each for each in rounds if each.verifies is not None and each.verifies.kind == of.kind]
    return max(before, key=lambda each: each.number).replication if before else REVIEWERS_PER_CAPTION


def _next_number(rounds: Iterable[Round], kind: RoundKind) -> int:
    return 1 + max((each.number for each in rounds if each.kind == kind), default=0)
