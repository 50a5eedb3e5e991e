"""The steps of a language from its first pilot to a verified main round, one transaction each.

Locks are taken in this order: the language's rounds (by primary key), the pool, batches, tasks, the audit log.
`annotation.rules.campaign` decides which step may follow which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, Unpack

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Guidelines, Round, RoundKind, RoundState
from annotation.rules import campaign as rules
from annotation.rules.campaign import (
    PILOT_IMAGES,
    REVIEWERS_PER_CAPTION,
    VERIFIED_CAPTIONS,
    RoundAction,
    UnfinishedBatches,
)
from annotation.selectors.campaign import steps_of
from annotation.services.rounds import create_round
from core.allocation.models import Batch, BatchState, Pool
from core.allocation.services.lifecycle import close_pool, expire_batches, return_batches
from core.images.models import Collection
from core.languages.models import Language
from core.people.models import Project, User, WebhookEvent
from core.people.services import audit_log, webhooks
from research.inference.models import CaptioningModel

MAX_NAMED = 5
"""How many people's batches an error message names."""


class StepNotAllowedError(Exception):
    """A step is not allowed; the message says why and what to do first."""


class UnfinishedBatchesError(StepNotAllowedError):
    """A round cannot be closed or decided with unfinished batches unless the caller says what happens to them."""

    def __init__(self, batches: Sequence[Batch], what_to_do: str) -> None:
        names = sorted(batch.person.username for batch in batches)
        named = ", ".join(names[:MAX_NAMED]) + ("…" if len(names) > MAX_NAMED else "")
        text = ngettext(
            "%(number)d batch is unfinished, of %(names)s.",
            "%(number)d batches are unfinished, of %(names)s.",
            len(names),
        )
        super().__init__(f"{text % {'number': len(names), 'names': named}} {what_to_do}")
        self.batches = batches


@dataclass(frozen=True)
class LanguageBeginning:
    """How a language begins: with a pilot, or with the main round and a reason why there is no pilot."""

    pilot_images: int = PILOT_IMAGES
    why_no_pilot: str = ""


class LanguageSettings(TypedDict):
    """The settings that all languages of a project begin with."""

    collection: Collection
    captioners: Sequence[CaptioningModel]
    batch_size: int
    lease_s: int
    seed: int


def begin_language(
    *,
    project: Project,
    language: Language,
    replication: int,
    beginning: LanguageBeginning,
    by: User,
    now: datetime,
    **settings: Unpack[LanguageSettings],
) -> Round:
    """Set up a language's rounds, open the first and return it; its tasks are made in the background."""
    made: dict[str, Any] = {"project": project, "language": language, "replication": replication, **settings}
    made |= {"with_tasks": False, "by": by, "now": now}
    with transaction.atomic():
        about = {"collection": settings["collection"].slug, "replication": replication, "seed": settings["seed"]}
        audit_log.record(project=project, action="language.added", about=language.pk, by=by, now=now, details=about)
        main_state = RoundState.OPEN if beginning.why_no_pilot else RoundState.PLANNED
        main = create_round(kind=RoundKind.MAIN, state=main_state, **made)
        if beginning.why_no_pilot:
            pilot = create_round(kind=RoundKind.PILOT, state=RoundState.SKIPPED, reason=beginning.why_no_pilot, **made)
            record_of_round(pilot, "skipped", by=by, now=now, reason=beginning.why_no_pilot)
        else:
            pilot = create_round(kind=RoundKind.PILOT, sample_size=beginning.pilot_images, **made)
            create_verification(pilot, number=1, sample_size=None)
        first = main if beginning.why_no_pilot else pilot
        record_of_round(first, "opened", by=by, now=now)
        create_verification(main, number=1 if beginning.why_no_pilot else 2, sample_size=VERIFIED_CAPTIONS)
    return first


def take_step(
    *,
    round: Round,
    action: RoundAction,
    by: User,
    now: datetime,
    reason: str = "",
    assigned: UnfinishedBatches | None = None,
    needs_qualification: bool | None = None,
) -> Round:
    """Open, close, reopen, accept, reject or skip a round, with what that step needs of the rest.

    Raises StepNotAllowedError.
    """
    if action == RoundAction.OPEN:
        return open_round(round=round, by=by, now=now, needs_qualification=needs_qualification)
    if action == RoundAction.CLOSE:
        return close_round(round=round, by=by, now=now, assigned=assigned)
    steps: dict[RoundAction, Callable[..., Round]] = {
        RoundAction.REOPEN: reopen_round,
        RoundAction.ACCEPT: accept_round,
        RoundAction.REJECT: reject_round,
        RoundAction.SKIP: skip_round,
    }
    return steps[action](round=round, by=by, now=now, reason=reason)


def open_round(*, round: Round, by: User, now: datetime, needs_qualification: bool | None = None) -> Round:
    """Open a round with the newest guidelines; its tasks are made in the background.

    Raises StepNotAllowedError.
    """
    with transaction.atomic():
        round, _rounds = _locked(round, RoundAction.OPEN)
        if needs_qualification is not None:
            round.needs_qualification = needs_qualification
        round.guidelines = Guidelines.objects.filter(project=round.project_id).latest("version")
        round.state, round.opened_at, round.awaits_tasks = RoundState.OPEN, now, True
        round.save(update_fields=["needs_qualification", "guidelines", "state", "opened_at", "awaits_tasks"])
        Pool.objects.filter(pk=round.pool_id).update(is_open=True)
        details = {"guidelines": round.guidelines.version, "needs_qualification": round.needs_qualification}
        record_of_round(round, "opened", by=by, now=now, **details)
    return round


def close_round(*, round: Round, by: User, now: datetime, assigned: UnfinishedBatches | None = None) -> Round:
    """Close a round. If it has unfinished batches, `assigned` says what happens to them.

    Raises StepNotAllowedError. Raises UnfinishedBatchesError: there are unfinished batches, and `assigned` was not
    given.
    """
    with transaction.atomic():
        round, _rounds = _locked(round, RoundAction.CLOSE)
        close_pool(pool=round.pool)
        batches = _assigned(round, now)
        if batches and assigned is None:
            raise UnfinishedBatchesError(batches, _("Choose whether people finish them or they are returned."))
        round.state, round.closed_at = RoundState.CLOSED, now
        round.save(update_fields=["state", "closed_at"])
        if assigned == UnfinishedBatches.RETURN:
            return_batches(batches=Batch.objects.filter(pool=round.pool_id), now=now)
        choice = str(assigned) if batches and assigned else ""
        record_of_round(round, "closed", by=by, now=now, batches=len(batches), assigned=choice)
        _emit(round, WebhookEvent.ROUND_CLOSED, now)
    return round


def take_back(*, round: Round, by: User, now: datetime) -> int:
    """Return all unfinished batches of a closed round; drafts are kept. Returns how many.

    Raises StepNotAllowedError if the round is not closed.
    """
    with transaction.atomic():
        rounds = locked_rounds(round.project, round.language)
        round = next(each for each in rounds if each.pk == round.pk)
        if round.state == RoundState.OPEN:
            raise StepNotAllowedError(_("This round is open. Close it first."))
        returned = return_batches(batches=Batch.objects.filter(pool=round.pool_id), now=now)
        if returned:
            record_of_round(round, "taken-back", by=by, now=now, batches=len(returned))
    return len(returned)


def reopen_round(*, round: Round, by: User, now: datetime, reason: str = "") -> Round:
    """Reopen a closed round for what is left, or a main round whose captions no longer count.

    Raises StepNotAllowedError.
    """
    with transaction.atomic():
        round, _rounds = _locked(round, RoundAction.REOPEN)
        before = round.state
        round.state, round.closed_at, round.awaits_tasks = RoundState.OPEN, None, True
        round.decided_at, round.decided_by, round.reason = None, None, ""
        round.save(update_fields=["state", "closed_at", "awaits_tasks", "decided_at", "decided_by", "reason"])
        Pool.objects.filter(pk=round.pool_id).update(is_open=True)
        record_of_round(round, "reopened", by=by, now=now, reason=reason, before=before)
    return round


def accept_round(*, round: Round, by: User, now: datetime, reason: str = "") -> Round:
    """Accept a closed round as good enough; the next may be opened.

    Raises StepNotAllowedError. Raises UnfinishedBatchesError: there are unfinished batches.
    """
    with transaction.atomic():
        round, rounds = _locked(round, RoundAction.ACCEPT)
        _decide(round, rounds, RoundState.ACCEPTED, reason, by=by, now=now)
        _emit(round, WebhookEvent.ROUND_ACCEPTED, now)
    return round


def reject_round(*, round: Round, reason: str, by: User, now: datetime) -> Round:
    """Reject a pilot that was not good enough, with a reason; the next one may be planned.

    Raises StepNotAllowedError. Raises UnfinishedBatchesError: there are unfinished batches.
    """
    with transaction.atomic():
        round, rounds = _locked(round, RoundAction.REJECT)
        _decide(round, rounds, RoundState.REJECTED, reason, by=by, now=now)
    return round


def skip_round(*, round: Round, reason: str, by: User, now: datetime) -> Round:
    """Skip a round that was never opened, with a reason; with a pilot, its rating too.

    Raises StepNotAllowedError.
    """
    with transaction.atomic():
        round, rounds = _locked(round, RoundAction.SKIP)
        _skip(round, reason, by=by, now=now)
        for other in rounds:
            if other.verifies_id == round.pk and other.state == RoundState.PLANNED:
                _skip(other, reason, by=by, now=now)
    return round


def create_verification(
    of: Round,
    *,
    number: int,
    sample_size: int | None,
    seed: int | None = None,
    reviewers: int = REVIEWERS_PER_CAPTION,
) -> Round:
    """Make a planned round that rates the captions of `of`."""
    return create_round(
        project=of.project,
        language=of.language,
        collection=of.collection,
        captioners=(),
        replication=reviewers,
        batch_size=of.pool.batch_size,
        lease_s=of.pool.lease_s,
        seed=of.seed if seed is None else seed,
        kind=RoundKind.VERIFICATION,
        number=number,
        state=RoundState.PLANNED,
        sample_size=sample_size,
        verifies=of,
    )


def locked_rounds(project: Project, language: Language) -> list[Round]:
    """Lock all rounds of a language, so that two managers take turns."""
    rounds = Round.objects.filter(project=project, language=language)
    list(rounds.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    # Read after locking: the previous holder may have planned another.
    return list(rounds.order_by("pk").select_related("pool", "project", "language", "collection", "verifies"))


def _locked(round: Round, action: RoundAction) -> tuple[Round, list[Round]]:
    """Return the round as it is now, if `action` is allowed with it, and all rounds of its language."""
    rounds = locked_rounds(round.project, round.language)
    refuse(rules.why_not(action, step_in(round, rounds), steps_of(rounds)))
    return next(each for each in rounds if each.pk == round.pk), rounds


def step_in(round: Round, rounds: Iterable[Round]) -> rules.CampaignStep:
    """Return a round as the rules see it among those of its language."""
    return next(step for step in steps_of(rounds) if step.key == round.pk)


def refuse(why: str | None) -> None:
    """Raise StepNotAllowedError if there is a reason why not."""
    if why:
        raise StepNotAllowedError(why)


def _assigned(round: Round, now: datetime) -> list[Batch]:
    """Return the unfinished batches; expired ones are released."""
    batches = Batch.objects.filter(pool=round.pool_id)
    expire_batches(batches=batches, now=now)
    return list(batches.filter(state=BatchState.OPEN).select_related("person"))


def _decide(round: Round, rounds: Sequence[Round], state: RoundState, reason: str, by: User, now: datetime) -> None:
    rating = next((each for each in rounds if each.verifies_id == round.pk and each.state == RoundState.CLOSED), None)
    is_pilot = round.kind == RoundKind.PILOT
    for each in (round, rating) if rating and is_pilot else (round,):
        if batches := _assigned(each, now):
            raise UnfinishedBatchesError(batches, _("Wait until they are submitted, or return them."))
    if is_pilot:
        for each in rounds:
            if each.verifies_id == round.pk and each.state == RoundState.PLANNED:
                _skip(each, reason, by=by, now=now)
    if rating and is_pilot:
        _settle(rating, RoundState.ACCEPTED, "", by=by, now=now)
    _settle(round, state, reason, by=by, now=now)
    record_of_round(round, str(state), by=by, now=now, reason=reason)


def _skip(round: Round, reason: str, *, by: User, now: datetime) -> None:
    _settle(round, RoundState.SKIPPED, reason, by=by, now=now)
    record_of_round(round, "skipped", by=by, now=now, reason=reason)


def _settle(round: Round, state: RoundState, reason: str, *, by: User, now: datetime) -> None:
    round.state, round.reason, round.decided_by, round.decided_at = state, reason, by, now
    round.save(update_fields=["state", "reason", "decided_by", "decided_at"])


def name_in_log(round: Round) -> str:
    """Return the English name of a round, as on pages: the rating of a pilot has the pilot's number."""
    verified = round.verifies
    if verified is None:
        name = f"{round.kind} {round.number}"
    else:
        name = f"rating of pilot {verified.number}" if verified.kind == RoundKind.PILOT else str(round.kind)
    return f"{name}, {round.language_id}"


def record_of_round(round: Round, what: str, *, by: User, now: datetime, **details: Any) -> None:
    """Add an entry about a round to the audit log, in the transaction of the change, without empty details."""
    about = name_in_log(round)
    audit_log.record(
        project=round.project,
        action=f"round.{what}",
        about=about,
        by=by,
        now=now,
        details={key: value for key, value in details.items() if value not in ("", None)},
    )


def _emit(round: Round, event: WebhookEvent, now: datetime) -> None:
    payload = {"language": round.language_id, "kind": round.kind, "number": round.number, "state": round.state}
    webhooks.queue_event(project=round.project, event=event, payload=payload, now=now)
