"""What becomes of captions and ratings when consent is withdrawn or an account deleted."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from contextlib import nullcontext, suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import QuerySet

from annotation.models import Caption, CaptionItem, CaptionState, Round, RoundFigures, RoundState, Stage, Tally, Verdict
from annotation.services import annotator_status, batches, corrections, references
from annotation.services.references import use_as_references
from annotation.tasks import fill_round
from core.allocation.models import AssignmentState, Batch, BatchState, Task
from core.allocation.services.errors import BatchReturnedError
from core.allocation.services.lifecycle import expire_overdue
from core.people import personal_data
from core.people.models import Consent, ConsentText, OnWithdrawal, User
from core.people.selectors.qualification import NotQualifiedError
from core.people.services.accounts import delete_account
from core.people.services.consent import WithdrawalChoiceError, give_consent, withdraw_consent
from research.scoring.models import Reference
from tests.annotation.submitting import submit_captions, take, write
from tests.annotation.verifying import (
    make_captioned_round,
    make_reviewer,
    make_verification,
    rate,
    rate_all,
    submit,
)
from tests.annotation.verifying import take as take_to_rate
from tests.concurrency import together, together_with_errors
from tests.factories import MINUTE, NOW, make_annotator, make_round, make_user
from tests.kept import kept
from tests.sweeping import sweep
from tests.tiers import runs

LATER = NOW + timedelta(hours=1)


@kept
def round() -> Round:
    return make_round(images=4, replication=2, batch_size=2)


def withdraw(round: Round, person: User, *, keeps: bool | None) -> int:
    done = withdraw_consent(project=round.project, user=person, keeps_answers=keeps, now=LATER)
    assert done is not None
    return done.removed


def states(person: User) -> list[str]:
    return list(Caption.objects.filter(author=person).values_list("state", flat=True).distinct())


def places_taken(round: Round) -> int:
    return sum(Task.objects.filter(pool=round.pool).values_list("places_taken", flat=True))


def test_answers_that_are_kept_count_as_before_and_work_assigned_goes_back(round: Round, ann: User):
    submit_captions(round, ann)
    assigned = take(round, ann)
    assert withdraw(round, ann, keeps=True) == 0
    assert states(ann) == [CaptionState.COUNTED]
    assert Batch.objects.get(pk=assigned.pk).state == BatchState.RETURNED
    assert places_taken(round) == 2


@pytest.mark.long(reason="at least three others run each of its lines")
def test_answers_that_are_removed_count_no_longer_and_others_get_their_places(round: Round, ann: User):
    submit_captions(round, ann)
    take(round, ann)
    assert withdraw(round, ann, keeps=False) == 2
    assert states(ann) == [CaptionState.WITHDRAWN]
    assert places_taken(round) == 0
    done = CaptionItem.objects.filter(person=ann, caption__isnull=False)
    assert set(done.values_list("assignment__state", flat=True)) == {AssignmentState.REJECTED}
    assert Tally.objects.get(round=round, person=ann).captions == 0
    assert RoundFigures.objects.get(round=round).is_stale


def test_others_keep_their_captions_and_their_references(round: Round, ann: User):
    bob = make_annotator(round, "bob")
    for person in (ann, bob):
        submit_captions(round, person, f"Ein Bild von {person.username}")
        submit_captions(round, person, f"Ein Bild von {person.username} noch einmal")
    references = use_as_references(round=round, by=round.project.created_by, now=NOW)
    before = references.digest
    withdraw(round, ann, keeps=False)
    references.refresh_from_db()
    texts = list(Reference.objects.filter(reference_set=references).values_list("text", flat=True))
    assert references.captions == len(texts) == 4
    assert not [text for text in texts if "ann" in text]
    assert references.digest != before
    assert states(bob) == [CaptionState.COUNTED]
    assert use_as_references(round=round, by=round.project.created_by, now=LATER).digest == references.digest


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("state", [CaptionState.LATE, CaptionState.RETURNED, CaptionState.EXCLUDED])
def test_what_did_not_count_anyhow_is_marked_too_so_that_no_manager_brings_it_back(
    round: Round, ann: User, state: CaptionState
):
    submit_captions(round, ann)
    Caption.objects.filter(author=ann).update(state=state)
    assert withdraw(round, ann, keeps=False) == 0
    assert states(ann) == [CaptionState.WITHDRAWN]


def test_ratings_of_others_captions_count_no_longer_either(db):
    written, _authors = make_captioned_round(images=3, captions=1)
    verifying = make_verification(written, places=1)
    rater = make_reviewer(verifying)
    rate_all(verifying, rater)
    assert withdraw(verifying, rater, keeps=False) == 3
    assert set(Verdict.objects.values_list("assignment__state", flat=True)) == {AssignmentState.REJECTED}
    assert places_taken(verifying) == 0
    assert Tally.objects.get(round=verifying, person=rater).captions == 0


@pytest.mark.parametrize(("state", "is_drawn_anew"), [(RoundState.OPEN, True), (RoundState.CLOSED, False)])
def test_what_was_drawn_to_be_rated_by_others_is_drawn_anew_while_that_round_is_open(
    round: Round, ann: User, state: RoundState, is_drawn_anew: bool
):
    submit_captions(round, ann)
    verifying = make_verification(round, state=state)
    Round.objects.filter(pk=verifying.pk).update(awaits_tasks=False)
    withdraw(round, ann, keeps=False)
    verifying.refresh_from_db()
    assert verifying.awaits_tasks == is_drawn_anew
    assert RoundFigures.objects.get(round=verifying).is_stale


def test_what_becomes_of_answers_is_asked_only_where_the_text_leaves_it_open(round: Round, ann: User):
    submit_captions(round, ann)
    with pytest.raises(WithdrawalChoiceError):
        withdraw(round, ann, keeps=None)
    assert Consent.objects.filter(user=ann, withdrawn_at=None).exists()
    ConsentText.objects.filter(project=round.project).update(on_withdrawal=OnWithdrawal.REMOVE)
    assert withdraw(round, ann, keeps=True) == 2
    consent = Consent.objects.get(user=ann)
    assert (consent.withdrawn_at, consent.answers_kept) == (LATER, False)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_agreeing_again_brings_nothing_back(round: Round, ann: User):
    submit_captions(round, ann)
    withdraw(round, ann, keeps=False)
    give_consent(project=round.project, user=ann, version=1, now=LATER)
    assert states(ann) == [CaptionState.WITHDRAWN]
    batch = take(round, ann, now=LATER)
    assert not set(batch.items.values_list("image", flat=True)) & set(
        Caption.objects.filter(author=ann).values_list("image", flat=True)
    )


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_deleted_account_loses_its_drafts_and_keeps_its_answers(round: Round, ann: User):
    submit_captions(round, ann)
    drafted = take(round, ann)
    write(drafted, ann, "Ein Entwurf")
    personal_data.forget(person=ann, now=LATER)
    assert states(ann) == [CaptionState.COUNTED]
    assert set(CaptionItem.objects.filter(batch=drafted).values_list("text", flat=True)) == {""}
    assert not CaptionItem.objects.filter(batch__stage=Stage.SUBMITTED, text="").exists()
    assert Batch.objects.get(pk=drafted.pk).state == BatchState.RETURNED


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("expired", [False, True])
def test_withdrawing_while_a_batch_is_submitted_leaves_nothing_that_counts(expired: bool):
    round = make_round(images=2, replication=2, batch_size=2)
    ann = make_annotator(round, "ann")
    batch = take(round, ann)
    write(batch, ann, "Ein Bild")
    now = NOW + timedelta(days=3 if expired else 0)

    def act(what: str) -> object:
        if what == "withdraw":
            return withdraw_consent(project=round.project, user=ann, keeps_answers=False, now=now)
        return batches.submit_batch(batch_id=batch.pk, person=ann, now=now)

    outcomes = together_with_errors(act, ["withdraw", "submit"])
    assert not isinstance(outcomes[0], BaseException)
    assert not isinstance(outcomes[1], BaseException) or isinstance(outcomes[1], NotQualifiedError | BatchReturnedError)
    assert set(states(ann)) <= {CaptionState.WITHDRAWN}
    assert places_taken(round) == 0
    assert Tally.objects.filter(person=ann).exclude(captions=0).count() == 0


def test_nothing_of_another_project_is_touched(round: Round, ann: User):
    other = make_round(images=2, replication=2)
    outsider = make_annotator(other, "eve")
    submit_captions(other, outsider)
    assert withdraw_consent(project=round.project, user=outsider, keeps_answers=False, now=LATER) is None
    Consent.objects.create(text=round.project.consent_texts.get(), user=outsider, given_at=NOW)
    withdraw(round, outsider, keeps=False)
    assert states(outsider) == [CaptionState.COUNTED]
    assert Round.objects.get(pk=other.pk).state == RoundState.OPEN
    assert make_user().consents.count() == 0


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("how", ["withdraw", "delete"])
def test_nothing_is_handed_to_who_is_leaving_at_that_moment(how: str):
    round = make_round(images=4, replication=2, batch_size=2)
    ann = make_annotator(round, "ann")

    def act(what: str) -> object:
        if what == "take":
            return take(round, ann, now=LATER)
        if how == "delete":
            delete_account(user=ann, now=LATER)
            return None
        return withdraw_consent(project=round.project, user=ann, keeps_answers=True, now=LATER)

    left, taken = together_with_errors(act, ["leave", "take"])
    assert not isinstance(left, BaseException)
    assert not isinstance(taken, BaseException) or isinstance(taken, NotQualifiedError)
    assert not Batch.objects.filter(person=ann, state=BatchState.OPEN).exists()
    assert places_taken(round) == 0


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("how", ["withdraw", "delete"])
def test_the_place_of_what_was_returned_to_who_leaves_is_free_for_others(round: Round, ann: User, how: str):
    submit_captions(round, ann)
    caption = Caption.objects.filter(author=ann).first()
    corrections.return_for_correction(caption_id=caption.pk, note="Say more.", by=round.project.created_by, now=NOW)
    if how == "delete":
        delete_account(user=ann, now=LATER)
    else:
        assert withdraw(round, ann, keeps=True) == 0
    caption.refresh_from_db()
    assert caption.state == CaptionState.RETURNED
    assert caption.item.assignment.state == AssignmentState.REJECTED
    assert places_taken(round) == 1


@pytest.mark.parametrize("is_free", [True, False])
def test_who_comes_back_writes_anew_what_was_returned_where_its_place_is_still_free(
    round: Round, ann: User, is_free: bool
):
    submit_captions(round, ann)
    caption = Caption.objects.filter(author=ann).first()
    corrections.return_for_correction(caption_id=caption.pk, note="Say more.", by=round.project.created_by, now=NOW)
    withdraw(round, ann, keeps=True)
    if not is_free:
        for other in (make_annotator(round), make_annotator(round)):
            for _ in range(2):
                submit_captions(round, other)
    give_consent(project=round.project, user=ann, version=1, now=LATER)
    with suppress(corrections.RewriteRefusedError) if not is_free else nullcontext():
        corrections.rewrite(caption_id=caption.pk, author=ann, text="Ein ganz anderer Satz.", now=LATER)
    caption.refresh_from_db()
    assert (caption.state == CaptionState.COUNTED) == is_free
    counted = Caption.objects.counted().filter(round=round, image=caption.image_id).count()
    assert counted == (1 if is_free else 2)


def test_ratings_from_after_a_withdrawal_count_again_once_an_exclusion_is_undone(db):
    written, _authors = make_captioned_round(images=3, captions=1)
    verifying = make_verification(written, places=1, batch_size=1)
    rater = make_reviewer(verifying)
    about: dict[str, Any] = {"project": verifying.project, "person": rater, "language": verifying.language}
    for at in (NOW, LATER + MINUTE):
        batch = take_to_rate(verifying, rater, at)
        rate(batch, rater, now=at)
        submit(batch, rater, at)
        if at == NOW:
            withdraw(verifying, rater, keeps=False)
            give_consent(project=verifying.project, user=rater, version=1, now=LATER)
    made = annotator_status.exclude(
        reason="Too fast.", by=verifying.project.created_by, now=LATER + 2 * MINUTE, **about
    )
    annotator_status.undo_exclusion(exclusion=made, by=verifying.project.created_by, now=LATER + 3 * MINUTE)
    assert Verdict.objects.get(assignment__state=AssignmentState.DONE).batch.submitted_at == LATER + MINUTE


@pytest.mark.parametrize("state", [RoundState.PLANNED, RoundState.OPEN])
def test_nothing_is_drawn_for_a_round_that_is_not_open_yet(round: Round, ann: User, state: RoundState):
    submit_captions(round, ann)
    submit_captions(round, make_annotator(round))
    verifying = make_verification(round, filled=False, state=state, awaits_tasks=False)
    withdraw(round, ann, keeps=False)
    sweep(fill_round)
    assert verifying.verification_tasks.exists() == (state == RoundState.OPEN)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_references_that_are_made_while_somebody_withdraws_have_nothing_of_theirs(monkeypatch):
    round = make_round(images=2, replication=2, batch_size=2)
    ann, bob = make_annotator(round, "ann"), make_annotator(round, "bob")
    for person in (ann, bob):
        submit_captions(round, person, f"Ein Bild von {person.username}")
    read, has_read = references._texts_by_image, threading.Event()

    def slowly(captions: QuerySet[Caption]) -> defaultdict[int, list[str]]:
        texts, is_first = read(captions), not has_read.is_set()
        has_read.set()
        time.sleep(0.5 if is_first else 0)
        return texts

    def act(what: str) -> object:
        if what == "use":
            return references.use_as_references(round=round, by=round.project.created_by, now=NOW)
        has_read.wait(5)
        return withdraw(round, ann, keeps=False)

    monkeypatch.setattr(references, "_texts_by_image", slowly)
    together(act, ["use", "leave"])
    texts = list(Reference.objects.values_list("text", flat=True))
    assert len(texts) == 2
    assert not [text for text in texts if "ann" in text]


def test_a_draft_that_comes_after_the_account_was_deleted_is_not_kept(round: Round, ann: User):
    batch = take(round, ann)
    write(batch, ann, "Ein Entwurf")
    expire_overdue(now=NOW + timedelta(days=2))
    assert Batch.objects.get(pk=batch.pk).state == BatchState.EXPIRED
    delete_account(user=ann, now=LATER)
    about: dict[str, Any] = {"batch_id": batch.pk, "person": ann, "position": 1, "active_ms": 0, "now": LATER}
    with pytest.raises(BatchReturnedError):
        batches.save_draft(text="Noch ein Wort", revision=1, **about)
    assert set(CaptionItem.objects.filter(batch=batch).values_list("text", flat=True)) == {""}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("run", runs(3, short=1))
def test_a_withdrawal_says_how_many_answers_count_no_longer_also_of_those_submitted_at_that_moment(run: int):
    round = make_round(images=4, replication=1, batch_size=2)
    ann = make_annotator(round, "ann")
    submit_captions(round, ann)
    batch = take(round, ann)
    write(batch, ann, "Ein Bild davon")

    def act(what: str) -> object:
        if what == "submit":
            with suppress(NotQualifiedError, BatchReturnedError):
                batches.submit_batch(batch_id=batch.pk, person=ann, now=LATER)
            return None
        time.sleep(run * 0.005)
        return withdraw(round, ann, keeps=False)

    _, removed = together(act, ["submit", "withdraw"])
    assert removed == Caption.objects.filter(author=ann, state=CaptionState.WITHDRAWN).count()
