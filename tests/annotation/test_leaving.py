"""What becomes of captions and ratings when consent is withdrawn or an account deleted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from allocation.models import AssignmentState, Batch, BatchState, Task
from annotation.models import Caption, CaptionState, Item, Round, RoundFigures, RoundState, Stage, Tally, Verdict
from annotation.services import batches
from annotation.services.references import use_as_references
from people import personal
from people.deletion import delete_account
from people.models import Consent, ConsentText, OnWithdrawal, User
from people.qualification import NotQualified
from people.services import give_consent
from people.withdrawal import ChoiceNeeded, withdraw_consent
from scoring.models import Reference
from tests.annotation.handing_in import hand_in, take, write
from tests.annotation.verifying import make_caption_rater, make_captioned_round, make_verification, rate_all
from tests.concurrency import together_with_errors
from tests.factories import NOW, make_annotator, make_round, make_user

LATER = NOW + timedelta(hours=1)


@pytest.fixture
def round(db) -> Round:
    return make_round(images=4, replication=2, batch_size=2)


@pytest.fixture
def ann(round: Round) -> User:
    return make_annotator(round, "ann")


def withdraw(round: Round, person: User, *, keeps: bool | None) -> int:
    done = withdraw_consent(project=round.project, user=person, keeps_answers=keeps, now=LATER)
    assert done is not None
    return done.removed


def states(person: User) -> list[str]:
    return list(Caption.objects.filter(author=person).values_list("state", flat=True).distinct())


def places_taken(round: Round) -> int:
    return sum(Task.objects.filter(pool=round.pool).values_list("places_taken", flat=True))


def test_answers_that_are_kept_count_as_before_and_work_in_hand_goes_back(round: Round, ann: User):
    hand_in(round, ann)
    in_hand = take(round, ann)
    assert withdraw(round, ann, keeps=True) == 0
    assert states(ann) == [CaptionState.COUNTED]
    assert Batch.objects.get(pk=in_hand.pk).state == BatchState.RETURNED
    assert places_taken(round) == 2


def test_answers_that_are_removed_count_no_longer_and_others_get_their_places(round: Round, ann: User):
    hand_in(round, ann)
    take(round, ann)
    assert withdraw(round, ann, keeps=False) == 2
    assert states(ann) == [CaptionState.WITHDRAWN]
    assert places_taken(round) == 0
    done = Item.objects.filter(person=ann, caption__isnull=False)
    assert set(done.values_list("assignment__state", flat=True)) == {AssignmentState.REJECTED}
    assert Tally.objects.get(round=round, person=ann).captions == 0
    assert RoundFigures.objects.get(round=round).is_stale


def test_others_keep_their_captions_and_their_references(round: Round, ann: User):
    bob = make_annotator(round, "bob")
    for person in (ann, bob):
        hand_in(round, person, f"Ein Bild von {person.username}")
        hand_in(round, person, f"Ein Bild von {person.username} noch einmal")
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


@pytest.mark.parametrize("state", [CaptionState.LATE, CaptionState.SENT_BACK, CaptionState.EXCLUDED])
def test_what_did_not_count_anyhow_is_marked_too_so_that_no_manager_brings_it_back(
    round: Round, ann: User, state: CaptionState
):
    hand_in(round, ann)
    Caption.objects.filter(author=ann).update(state=state)
    assert withdraw(round, ann, keeps=False) == 0
    assert states(ann) == [CaptionState.WITHDRAWN]


def test_ratings_of_others_captions_count_no_longer_either(db):
    written, _authors = make_captioned_round(images=3, captions=1)
    verifying = make_verification(written, places=1)
    rater = make_caption_rater(verifying)
    rate_all(verifying, rater)
    assert withdraw(verifying, rater, keeps=False) == 3
    assert set(Verdict.objects.values_list("assignment__state", flat=True)) == {AssignmentState.REJECTED}
    assert places_taken(verifying) == 0
    assert Tally.objects.get(round=verifying, person=rater).captions == 0


@pytest.mark.parametrize(("state", "is_drawn_anew"), [(RoundState.OPEN, True), (RoundState.CLOSED, False)])
def test_what_was_drawn_to_be_rated_by_others_is_drawn_anew_while_that_round_is_open(
    round: Round, ann: User, state: RoundState, is_drawn_anew: bool
):
    hand_in(round, ann)
    verifying = make_verification(round, state=state)
    Round.objects.filter(pk=verifying.pk).update(awaits_tasks=False)
    withdraw(round, ann, keeps=False)
    verifying.refresh_from_db()
    assert verifying.awaits_tasks == is_drawn_anew
    assert RoundFigures.objects.get(round=verifying).is_stale


def test_what_becomes_of_answers_is_asked_only_where_the_text_leaves_it_open(round: Round, ann: User):
    hand_in(round, ann)
    with pytest.raises(ChoiceNeeded):
        withdraw(round, ann, keeps=None)
    assert Consent.objects.filter(user=ann, withdrawn_at=None).exists()
    ConsentText.objects.filter(project=round.project).update(on_withdrawal=OnWithdrawal.REMOVE)
    assert withdraw(round, ann, keeps=True) == 2
    consent = Consent.objects.get(user=ann)
    assert (consent.withdrawn_at, consent.answers_kept) == (LATER, False)


def test_agreeing_again_brings_nothing_back(round: Round, ann: User):
    hand_in(round, ann)
    withdraw(round, ann, keeps=False)
    give_consent(project=round.project, user=ann, version=1, now=LATER)
    assert states(ann) == [CaptionState.WITHDRAWN]
    batch = take(round, ann, now=LATER)
    assert not set(batch.items.values_list("image", flat=True)) & set(
        Caption.objects.filter(author=ann).values_list("image", flat=True)
    )


def test_a_deleted_account_loses_its_drafts_and_keeps_its_answers(round: Round, ann: User):
    hand_in(round, ann)
    drafted = take(round, ann)
    write(drafted, ann, "Ein Entwurf")
    personal.forget(person=ann, now=LATER)
    assert states(ann) == [CaptionState.COUNTED]
    assert set(Item.objects.filter(batch=drafted).values_list("text", flat=True)) == {""}
    assert not Item.objects.filter(batch__stage=Stage.SUBMITTED, text="").exists()
    assert Batch.objects.get(pk=drafted.pk).state == BatchState.RETURNED


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("lapsed", [False, True])
def test_withdrawing_while_a_batch_is_handed_in_leaves_nothing_that_counts(lapsed: bool):
    round = make_round(images=2, replication=2, batch_size=2)
    ann = make_annotator(round, "ann")
    batch = take(round, ann)
    write(batch, ann, "Ein Bild")
    now = NOW + timedelta(days=3 if lapsed else 0)

    def act(what: str) -> object:
        if what == "withdraw":
            return withdraw_consent(project=round.project, user=ann, keeps_answers=False, now=now)
        return batches.submit_batch(batch_id=batch.pk, annotator=ann, now=now)

    outcomes = together_with_errors(act, ["withdraw", "submit"])
    assert not isinstance(outcomes[0], BaseException)
    assert not isinstance(outcomes[1], BaseException) or isinstance(outcomes[1], NotQualified | batches.GivenBack)
    assert set(states(ann)) <= {CaptionState.WITHDRAWN}
    assert places_taken(round) == 0
    assert Tally.objects.filter(person=ann).exclude(captions=0).count() == 0


def test_nothing_of_another_project_is_touched(round: Round, ann: User):
    other = make_round(images=2, replication=2)
    outsider = make_annotator(other, "eve")
    hand_in(other, outsider)
    assert withdraw_consent(project=round.project, user=outsider, keeps_answers=False, now=LATER) is None
    Consent.objects.create(text=round.project.consent_texts.get(), user=outsider, given_at=NOW)
    withdraw(round, outsider, keeps=False)
    assert states(outsider) == [CaptionState.COUNTED]
    assert Round.objects.get(pk=other.pk).state == RoundState.OPEN
    assert make_user().consents.count() == 0


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
    assert not isinstance(taken, BaseException) or isinstance(taken, NotQualified)
    assert not Batch.objects.filter(person=ann, state=BatchState.OPEN).exists()
    assert places_taken(round) == 0
