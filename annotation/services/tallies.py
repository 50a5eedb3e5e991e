"""Tallies of everyone's work in every round, updated with every answer, so that no page counts captions.

A tally is written in the transactions of the person or a manager, after the locks on batches and tasks. A recount locks
it before reading, so that answers submitted meanwhile are added exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction

from annotation.models import (
    Caption,
    CaptionBatch,
    CaptionState,
    Round,
    RoundFigures,
    RoundKind,
    Tally,
    Verdict,
    VerificationBatch,
)
from annotation.rules.tallies import COLUMNS, TallyAnswer, TallySums, sums_of, total_sums
from core.allocation.models import AssignmentState
from core.people.models import Project, User


@dataclass(frozen=True)
class TallyDifference:
    """A column of a tally that differed from its rows."""

    round: Round
    person: User
    column: str
    kept: Any
    counted: Any


def submitted(*, batch: CaptionBatch, captions: Iterable[Caption]) -> None:
    """Add the captions of a batch that was just submitted, with their items; call within its transaction."""
    _add(batch.round_id, batch.lease.person_id, sums_of(map(_answer_of_caption, captions)))


def verdicts_submitted(*, batch: VerificationBatch, verdicts: Iterable[Verdict], counts: bool) -> None:
    """Add the verdicts of a verification batch that was just submitted; call within its transaction."""
    answers = (_answer_of_verdict(batch, verdict, counts=counts, is_late=not counts) for verdict in verdicts)
    _add(batch.round_id, batch.lease.person_id, sums_of(answers))


def recount(*, round: Round, person: User) -> list[TallyDifference]:
    """Recount a person's answers in a round, after a change of many at once; return the corrections.

    Call within the transaction of the change, after its locks on batches and tasks.
    """
    with transaction.atomic():
        tally = _locked(round.pk, person.pk)
        sums = sums_of(_answers(round, person))
        differences = [
            TallyDifference(round, person, name, getattr(tally, name), getattr(sums, name))
            for name in COLUMNS
            if getattr(tally, name) != getattr(sums, name)
        ]
        # Saved even if all sums match: captions may have changed in ways that sums do not show.
        _save(tally, sums)
    return differences


def recount_all(project: Project) -> Iterator[TallyDifference]:
    """Recount all tallies of a project, one transaction each, so that nobody's work waits for long."""
    for round in Round.objects.filter(project=project).select_related("language", "verifies").order_by("pk"):
        for person in User.objects.filter(pk__in=_who_took_part(round)).order_by("username"):
            yield from recount(round=round, person=person)


def figures_changed(*, round_id: int) -> None:
    """Mark a round's background figures stale, when no tally shows the change."""
    RoundFigures.objects.update_or_create(round_id=round_id, defaults={"is_stale": True})


def _add(round_id: int, person_id: int, sums: TallySums) -> None:
    tally = _locked(round_id, person_id)
    _save(tally, total_sums([TallySums(**{name: getattr(tally, name) for name in COLUMNS}), sums]))


def _locked(round_id: int, person_id: int) -> Tally:
    tallies = Tally.objects.select_for_update(no_key=True)
    return tallies.get_or_create(round_id=round_id, person_id=person_id)[0]


def _save(tally: Tally, sums: TallySums) -> None:
    for name, value in asdict(sums).items():
        setattr(tally, name, value)
    tally.revision += 1
    tally.save(update_fields=[*COLUMNS, "revision"])


def _who_took_part(round: Round) -> set[int]:
    people = set(Tally.objects.filter(round=round).values_list("person", flat=True))
    if round.kind == RoundKind.VERIFICATION:
        wrote = Verdict.objects.filter(batch__round=round, batch__submitted_at__isnull=False)
        return people | set(wrote.values_list("person", flat=True).distinct())
    authors = Caption.objects.filter(round=round, author__isnull=False).order_by().values_list("author", flat=True)
    return people | {author for author in authors.distinct() if author is not None}


def _answers(round: Round, person: User) -> Iterator[TallyAnswer]:
    if round.kind == RoundKind.VERIFICATION:
        verdicts = Verdict.objects.filter(
            batch__round=round, person=person, batch__submitted_at__isnull=False
        ).select_related("assignment", "batch")
        for verdict in verdicts.order_by().iterator():
            state = verdict.assignment.state
            yield _answer_of_verdict(
                verdict.batch,
                verdict,
                counts=state == AssignmentState.DONE,
                is_late=state == AssignmentState.LATE,
            )
    else:
        captions = Caption.objects.filter(round=round, author=person).select_related("item")
        yield from map(_answer_of_caption, captions.order_by().iterator())


def _answer_of_caption(caption: Caption) -> TallyAnswer:
    item = caption.item
    assert item is not None  # guaranteed, as it has an author
    return TallyAnswer(
        batch=item.batch_id,
        at=caption.submitted_at,
        counts=caption.state == CaptionState.COUNTED,
        is_late=caption.state == CaptionState.LATE,
        rating=item.rating,
        rating_ms=item.rating_ms,
        writing_ms=item.writing_ms,
        text=caption.text,
        warnings=caption.warnings,
    )


def _answer_of_verdict(batch: VerificationBatch, verdict: Verdict, *, counts: bool, is_late: bool) -> TallyAnswer:
    assert batch.submitted_at is not None
    return TallyAnswer(
        batch=batch.pk,
        at=batch.submitted_at,
        counts=counts,
        is_late=is_late,
        rating=verdict.rating,
        rating_ms=verdict.rating_ms,
    )
