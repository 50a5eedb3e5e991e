"""What becomes of judgements when consent is withdrawn or an account deleted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.allocation.models import Batch, BatchState, Task
from core.allocation.services.errors import BatchReturnedError
from core.people import personal_data
from core.people.models import Consent, User
from core.people.selectors.qualification import NotQualifiedError
from core.people.services.consent import withdraw_consent
from sxs_eval.models import Comparison, Judgement, RaterState, RaterStatus
from sxs_eval.selectors.evidence import evidence_of
from sxs_eval.services.quality import exclude_rater, restore_rater
from tests.concurrency import together_with_errors
from tests.exported import exported_text
from tests.factories import NOW, make_comparison, make_rater
from tests.kept import kept
from tests.sxs_eval.judged import answer, judge_all, keys_of, take

LATER = NOW + timedelta(hours=1)


@kept
def comparison() -> Comparison:
    return make_comparison(images=3, replication=2)


@pytest.fixture
def rater(comparison: Comparison) -> User:
    return make_rater(comparison, "rae")


def withdraw(comparison: Comparison, person: User, *, keeps: bool) -> int:
    done = withdraw_consent(project=comparison.project, user=person, keeps_answers=keeps, now=LATER)
    assert done is not None
    return done.removed


def counted(comparison: Comparison) -> int:
    return len(evidence_of([comparison])[comparison.pk].judged.score)


def exported(comparison: Comparison) -> list[str]:
    return exported_text(comparison.project, "judgements", until=LATER).splitlines()


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("is_account_deleted", [False, True])
def test_judgements_that_are_kept_count_as_before_and_what_is_assigned_goes_back(
    comparison: Comparison, rater: User, is_account_deleted: bool
):
    batch = take(comparison, rater)
    answer(batch.judgements.select_related("person").get(position=1), 2)
    if is_account_deleted:
        personal_data.forget(person=rater, now=LATER)
    else:
        assert withdraw(comparison, rater, keeps=True) == 0
    assert Batch.objects.get(pk=batch.pk).state == BatchState.RETURNED
    assert counted(comparison) == 1
    assert not RaterStatus.objects.exists()


def test_judgements_that_are_removed_are_in_no_figure_and_no_file_and_others_get_their_pairs(
    comparison: Comparison, rater: User
):
    other = make_rater(comparison)
    for person in (rater, other):
        judge_all(comparison, person, dict.fromkeys(keys_of(comparison), 1))
    assert withdraw(comparison, rater, keeps=False) == 3
    assert counted(comparison) == 3
    assert len(exported(comparison)) == 3
    assert set(Task.objects.filter(pool=comparison.pool).values_list("places_taken", flat=True)) == {1}
    assert RaterStatus.objects.get(person=rater).state == RaterState.WITHDRAWN
    assert evidence_of([comparison])[comparison.pk].set_aside.excluded == 3


def test_no_manager_brings_them_back_and_agreeing_again_does_not_either(comparison: Comparison, rater: User):
    judge_all(comparison, rater, dict.fromkeys(keys_of(comparison), 1))
    withdraw(comparison, rater, keeps=False)
    manager = comparison.project.created_by
    restore_rater(comparison=comparison, rater=rater, note="", by=manager, now=LATER)
    exclude_rater(comparison=comparison, rater=rater, note="", by=manager, now=LATER)
    assert RaterStatus.objects.get(person=rater).state == RaterState.WITHDRAWN
    Consent.objects.create(text=comparison.project.consent_texts.get(), user=rater, given_at=LATER)
    with pytest.raises(NotQualifiedError, match="your work on this comparison has ended"):
        take(comparison, rater, now=LATER)
    assert counted(comparison) == 0


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_withdrawing_while_an_answer_comes_in_leaves_nothing_that_counts():
    comparison = make_comparison(images=3, replication=2)
    rater = make_rater(comparison)
    first = take(comparison, rater).judgements.select_related("person").get(position=1)

    def act(what: str) -> object:
        return withdraw(comparison, rater, keeps=False) if what == "withdraw" else answer(first, 2)

    outcomes = together_with_errors(act, ["withdraw", "answer"])
    assert not isinstance(outcomes[0], BaseException)
    assert isinstance(outcomes[1], Judgement | NotQualifiedError | BatchReturnedError)
    assert counted(comparison) == 0
    assert sum(Task.objects.values_list("places_taken", flat=True)) == 0
