"""One answer after the other: kept at once, undone while it is the last, late, paused, and blind by the draw."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from annotation.models import Round
from annotation.services import batches
from core.allocation.models import AssignmentState, BatchState, Task
from core.allocation.services.lifecycle import expire_overdue
from core.people.models import Consent, LanguageLevel, LanguageSkill, Membership, Role, User
from core.people.selectors.qualification import NotQualifiedError
from sxs_eval.models import Comparison, GoldPair, Judgement, JudgingBatch, RaterState, RaterStatus, TrialKind
from sxs_eval.rules import judging as rules
from sxs_eval.selectors.work import judging_page
from sxs_eval.services import judging as services
from sxs_eval.services.quality import exclude_rater, restore_rater, use_gold_pair
from tests.factories import MINUTE, NOW, make_comparison, make_rater, make_round, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]
LEASE = timedelta(hours=4)


def take(comparison: Comparison, rater, now=NOW, rng=None) -> JudgingBatch:
    return services.take_batch(comparison=comparison, person=rater, now=now, rng=rng or Random(1))


def answer(batch: JudgingBatch, position: int, choice: int = 2, now=NOW, **more) -> Judgement:
    return services.judge(
        batch_id=batch.pk, person=batch.lease.person, position=position, choice=choice, now=now, **more
    )


def answer_all_alike(batch: JudgingBatch) -> NotQualifiedError:
    """Answers "left much better" until no more answer is wanted; returns what was said then."""
    for row in batch.judgements.all():
        try:
            answer(batch, row.position, 3)
        except NotQualifiedError as stopped:
            return stopped
    pytest.fail("Nobody noticed.")


def taken(comparison: Comparison) -> list[int]:
    return list(Task.objects.filter(pool=comparison.pool).order_by("pk").values_list("places_taken", flat=True))


def test_an_answer_is_stored_as_test_against_base():
    comparison = make_comparison(images=8)
    batch = take(comparison, make_rater(comparison))
    for position in range(1, 9):
        answer(batch, position, choice=3)
    scores = {row.test_is_left: row.score for row in batch.judgements.all()}
    assert scores == {True: 3, False: -3}


def test_the_rater_sees_the_test_caption_on_the_side_that_is_stored():
    comparison = make_comparison(images=8)
    rater = make_rater(comparison)
    batch = take(comparison, rater)
    for position in range(1, 9):
        trial = judging_page(batch, rater, NOW).trial
        is_left = Judgement.objects.get(batch=batch, position=position).test_is_left
        test, base = (trial.left, trial.right) if is_left else (trial.right, trial.left)
        assert (test.split()[0], base.split()[0]) == ("test", "base")
        answer(batch, trial.position)


def test_sides_are_balanced_over_pairs_and_raters():
    comparison = make_comparison(images=300, replication=2, batch_size=300)
    for seed in range(2):
        take(comparison, make_rater(comparison), rng=Random(seed))
    sides = list(Judgement.objects.values_list("test_is_left", flat=True))
    assert len(sides) == 600
    # Of 600 fair ones, 260 to 340 with a chance of 0.999; the seeds are the same each time.
    assert 260 <= sum(sides) <= 340
    per_pair = [set(pair.judgements.values_list("test_is_left", flat=True)) for pair in comparison.pairs.all()]
    assert 90 < sum(len(both) == 2 for both in per_pair) < 210


def test_pairs_are_answered_in_their_order_and_the_same_answer_twice_is_one():
    comparison = make_comparison(images=3)
    batch = take(comparison, make_rater(comparison))
    with pytest.raises(services.StaleTrialError):
        answer(batch, 2)
    assert not Judgement.objects.filter(choice__isnull=False).exists()
    first = answer(batch, 1, choice=1)
    assert answer(batch, 1, choice=1, now=NOW + MINUTE).judged_at == first.judged_at
    with pytest.raises(services.StaleTrialError):
        answer(batch, 1, choice=-1)
    assert sum(taken(comparison)) == 3


def test_the_last_answer_can_be_undone_and_only_the_last():
    comparison = make_comparison(images=3)
    rater = make_rater(comparison)
    batch = take(comparison, rater)
    answer(batch, 1)
    answer(batch, 2)
    who = {"batch_id": batch.pk, "person": rater, "now": NOW}
    with pytest.raises(services.StaleTrialError):
        services.undo(position=1, **who)
    services.undo(position=2, **who)
    services.undo(position=2, **who)  # a double click
    undone = Judgement.objects.get(batch=batch, position=2)
    assert (undone.choice, undone.score, undone.judged_at) == (None, None, None)
    assert undone.assignment.state == AssignmentState.ASSIGNED
    assert Judgement.objects.get(batch=batch, position=1).choice == 2
    assert answer(batch, 2, choice=-3).choice == -3


def test_what_is_answered_counts_when_the_rest_expires_and_the_rest_goes_to_others():
    comparison = make_comparison(images=4, replication=1)
    batch = take(comparison, make_rater(comparison))
    answer(batch, 1)
    expire_overdue(now=NOW + LEASE)
    assert sorted(taken(comparison)) == [0, 0, 0, 1]
    other = take(comparison, make_rater(comparison), now=NOW + LEASE)
    assert other.judgements.count() == 3


def test_an_answer_after_the_time_takes_the_rest_up_again():
    comparison = make_comparison(images=3, replication=1)
    batch = take(comparison, make_rater(comparison))
    late = answer(batch, 1, now=NOW + LEASE + MINUTE)
    assert not late.is_late
    batch.lease.refresh_from_db()
    assert batch.lease.state == BatchState.OPEN
    assert taken(comparison) == [1, 1, 1]


def test_an_answer_whose_place_has_gone_is_kept_as_late_and_never_counted():
    comparison = make_comparison(images=2, replication=1)
    batch = take(comparison, make_rater(comparison))
    later = NOW + LEASE + MINUTE
    expire_overdue(now=later)
    other = take(comparison, make_rater(comparison), now=later)
    late = answer(batch, 1, now=later)
    assert late.is_late
    assert Judgement.objects.get(pk=late.pk).choice == 2
    assert Judgement.objects.get(pk=late.pk).assignment.state == AssignmentState.LATE
    answer(other, 1, now=later)
    assert taken(comparison) == [1, 1]
    with pytest.raises(services.StaleTrialError):
        services.undo(batch_id=batch.pk, person=batch.lease.person, position=1, now=later)


def test_a_late_answer_stays_late_when_the_rest_is_resumed():
    comparison = make_comparison(images=2, replication=1)
    batch = take(comparison, make_rater(comparison))
    comparison.pool.is_open = False
    comparison.pool.save()
    later = NOW + LEASE + MINUTE
    assert answer(batch, 1, now=later).is_late
    comparison.pool.is_open = True
    comparison.pool.save()
    services.resume_batch(batch_id=batch.pk, person=batch.lease.person, now=later)
    with pytest.raises(services.StaleTrialError):
        services.undo(batch_id=batch.pk, person=batch.lease.person, position=1, now=later)
    assert not answer(batch, 2, now=later).is_late
    assert sorted(taken(comparison)) == [0, 1]


def test_an_answer_to_a_closed_comparison_after_the_time_is_late_and_frees_its_place():
    comparison = make_comparison(images=2, replication=1)
    batch = take(comparison, make_rater(comparison))
    comparison.pool.is_open = False
    comparison.pool.save()
    assert answer(batch, 1, now=NOW + LEASE + MINUTE).is_late
    assert taken(comparison) == [0, 0]


def test_the_next_batch_comes_when_the_last_one_is_answered():
    comparison = make_comparison(images=6, batch_size=3)
    rater = make_rater(comparison)
    first = take(comparison, rater)
    assert take(comparison, rater).pk == first.pk
    for position in (1, 2, 3):
        answer(first, position)
    second = take(comparison, rater)
    assert second.pk != first.pk
    first.lease.refresh_from_db()
    assert first.lease.state == BatchState.DONE


def test_without_role_or_consent_nothing_counts():
    comparison = make_comparison(images=2)
    rater = make_rater(comparison)
    batch = take(comparison, rater)
    consents = Consent.objects.filter(user=rater)
    consents.update(withdrawn_at=NOW)
    with pytest.raises(NotQualifiedError):
        answer(batch, 1)
    consents.update(withdrawn_at=None)
    Membership.objects.filter(user=rater).delete()
    with pytest.raises(NotQualifiedError):
        answer(batch, 1)
    assert not Judgement.objects.filter(choice__isnull=False).exists()


def test_somebody_elses_batch_cannot_be_answered_and_active_time_is_at_most_what_the_clock_says():
    comparison = make_comparison(images=2)
    batch = take(comparison, make_rater(comparison))
    with pytest.raises(JudgingBatch.DoesNotExist):
        services.judge(batch_id=batch.pk, person=make_user(), position=1, choice=1, now=NOW)
    assert answer(batch, 1, active_ms=99_999_999, now=NOW + timedelta(seconds=7)).active_ms == 7000
    assert answer(batch, 2, active_ms=3000, now=NOW + timedelta(seconds=17)).active_ms == 3000


def test_answers_that_come_together_after_a_time_offline_keep_their_time_and_never_more_than_has_passed():
    comparison = make_comparison(images=3)
    batch = take(comparison, make_rater(comparison))
    connected = NOW + timedelta(seconds=20)
    given = [answer(batch, position, active_ms=8000, now=connected).active_ms for position in (1, 2, 3)]
    assert given == [8000, 8000, 4000]


class TestAttention:
    def lay_out(self, **fields):
        comparison = make_comparison(images=40, batch_size=20, gold_percent=20, repeat_percent=20, **fields)
        rater = make_rater(comparison)
        return comparison, rater, take(comparison, rater)

    def test_items_are_mixed_in_at_the_rate_asked_for_and_a_repeat_comes_later_with_its_sides_swapped(self):
        _, _, batch = self.lay_out()
        kinds = list(batch.judgements.values_list("kind", flat=True))
        assert (kinds.count("pair"), kinds.count("gold"), kinds.count("repeat")) == (20, 4, 4)
        assert list(batch.judgements.values_list("position", flat=True)) == list(range(1, 29))
        repeats = list(batch.judgements.filter(kind=TrialKind.REPEAT).select_related("repeated"))
        assert repeats
        for repeat in repeats:
            assert repeat.pair_id == repeat.repeated.pair_id
            assert repeat.test_is_left is not repeat.repeated.test_is_left
            assert repeat.position - repeat.repeated.position > rules.MIN_GAP

    def test_later_batches_repeat_pairs_of_earlier_ones(self):
        comparison, rater, batch = self.lay_out()
        for row in batch.judgements.all():
            right = 2 if row.kind == TrialKind.GOLD else 1
            answer(batch, row.position, right if row.test_is_left else -right)
        second = take(comparison, rater)
        repeated = second.judgements.filter(kind=TrialKind.REPEAT).values_list("repeated__batch", flat=True)
        assert set(repeated) == {batch.pk}
        assert not set(second.judgements.filter(kind=TrialKind.GOLD).values_list("gold", flat=True)) & set(
            batch.judgements.filter(kind=TrialKind.GOLD).values_list("gold", flat=True)
        )

    def test_a_repeat_that_was_returned_unanswered_is_laid_out_again(self):
        comparison = make_comparison(images=12, batch_size=4, repeat_percent=50)
        rater = make_rater(comparison)
        first = take(comparison, rater)
        for row in first.judgements.all():
            answer(first, row.position, 0)
        returned = take(comparison, rater)
        wanted = set(returned.judgements.filter(kind=TrialKind.REPEAT).values_list("repeated", flat=True))
        assert len(wanted) == 2, "all that the first batch did not repeat"
        services.return_batch(batch_id=returned.pk, person=rater, now=NOW)
        third = take(comparison, rater)
        assert set(third.judgements.filter(kind=TrialKind.REPEAT).values_list("repeated", flat=True)) == wanted
        for row in third.judgements.all():
            answer(third, row.position, 0)
        services.return_batch(batch_id=third.pk, person=rater, now=NOW)
        services.resume_batch(batch_id=returned.pk, person=rater, now=NOW)
        for row in returned.judgements.all():
            answer(returned, row.position, 0)
        assert Judgement.objects.filter(kind=TrialKind.REPEAT, repeated__in=wanted).count() == 2

    def test_who_answers_all_alike_is_paused_and_once_restored_is_judged_afresh(self):
        comparison, rater, batch = self.lay_out(checks_before_pause=3, failures_percent=30)
        stopped = answer_all_alike(batch)
        assert [missing_requirement.code for missing_requirement in stopped.missing_requirements] == ["paused"]
        status = RaterStatus.objects.get(comparison=comparison, person=rater)
        assert status.state == RaterState.PAUSED
        with pytest.raises(NotQualifiedError):
            take(comparison, rater)
        batch.lease.refresh_from_db()
        assert batch.lease.state == BatchState.RETURNED
        assigned = batch.judgements.filter(kind=TrialKind.PAIR, choice__isnull=False).count()
        assert sum(taken(comparison)) == assigned
        manager = comparison.project.created_by
        restore_rater(comparison=comparison, rater=rater, note="A long day.", by=manager, now=NOW + MINUTE)
        services.resume_batch(batch_id=batch.pk, person=rater, now=NOW + MINUTE)
        rest = batch.judgements.filter(choice=None)
        for row in rest:
            # Attentive now: the better one of a gold pair, similar for all else.
            choice = (2 if row.test_is_left else -2) if row.kind == TrialKind.GOLD else 0
            answer(batch, row.position, choice, now=NOW + 2 * MINUTE)
        assert RaterStatus.objects.get().state == RaterState.RESTORED

    def test_leaving_a_rater_out_frees_exactly_their_places(self):
        comparison, rater, batch = self.lay_out()
        other = make_rater(comparison)
        others = take(comparison, other)
        before = dict(Task.objects.values_list("pk", "places_taken"))
        for position in range(1, 8):
            answer(batch, position, 2)
        manager = comparison.project.created_by
        who = {"comparison": comparison, "rater": rater, "note": "", "by": manager, "now": NOW}
        judged = batch.judgements.filter(kind=TrialKind.PAIR, choice__isnull=False).count()
        assert exclude_rater(**who) == judged
        assert exclude_rater(**who) == 0
        mine = set(batch.judgements.filter(kind=TrialKind.PAIR).values_list("assignment__task", flat=True))
        after = dict(Task.objects.values_list("pk", "places_taken"))
        assert {task for task in before if after[task] != before[task]} == mine
        assert sum(after.values()) == others.judgements.filter(kind=TrialKind.PAIR).count()
        assert batch.judgements.filter(choice__isnull=False).count() == 7
        with pytest.raises(NotQualifiedError):
            take(comparison, rater)


def rater_who_writes(comparison: Comparison, round: Round) -> tuple[User, set[int]]:
    """Somebody of both, and the images that are assigned to them to write about."""
    person = make_rater(comparison)
    person.reads_english = True
    person.save()
    Membership.objects.create(project=round.project, user=person, role=Role.ANNOTATOR)
    LanguageSkill.objects.create(user=person, language=round.language, level=LanguageLevel.NATIVE)
    writing = batches.take_batch(round=round, person=person, now=NOW, rng=Random(1))
    assigned = set(writing.items.values_list("image", flat=True))
    return person, assigned


def test_a_gold_pair_does_not_show_what_is_said_of_an_image_that_one_is_writing_about():
    round = make_round(images=6, batch_size=3)
    comparison = make_comparison(
        project=round.project, collection=round.collection, language="en", batch_size=3, gold_percent=50
    )
    person, assigned = rater_who_writes(comparison, round)
    free = sorted(set(comparison.pairs.values_list("image", flat=True)) - assigned)
    comparison.gold_pairs.all().delete()
    refused, allowed = (
        GoldPair.objects.create(
            comparison=comparison, image_id=image, other_image_id=other, better="A dog runs.", worse="A red bus."
        )
        for image, other in ((free[0], min(assigned)), (free[1], free[2]))
    )
    shown = set(take(comparison, person).judgements.filter(kind=TrialKind.GOLD).values_list("gold", flat=True))
    assert shown == {allowed.pk}
    # Somebody who writes about none of them gets the other one too.
    use_gold_pair(comparison=comparison, gold_id=allowed.pk, is_used=False)
    of_another = take(comparison, make_rater(comparison)).judgements.filter(kind=TrialKind.GOLD)
    assert set(of_another.values_list("gold", flat=True)) == {refused.pk}


def test_an_image_that_one_is_writing_about_does_not_come_side_by_side_nor_the_other_way_round():
    round = make_round(images=6, batch_size=4)
    comparison = make_comparison(project=round.project, collection=round.collection, language="en", batch_size=6)
    person, assigned = rater_who_writes(comparison, round)
    judging = take(comparison, person)
    compared = set(judging.judgements.values_list("pair__image", flat=True))
    assert len(assigned) == 4
    assert len(compared) == 2
    assert not assigned & compared
    # While those two are in hand, a second round cannot have them.
    second = make_round(
        project=round.project, collection=round.collection, captioners=list(round.captioners.all()), language="es"
    )
    LanguageSkill.objects.create(user=person, language=second.language, level=LanguageLevel.NATIVE)
    assert batches.take_batch(round=second, person=person, now=NOW, rng=Random(1)) is None
