"""The page on which managers look at raters, and what they decide there."""

from __future__ import annotations

from itertools import count

import pytest
from django.test import Client
from django.urls import reverse

from core.allocation.models import Task
from core.people.models import User
from sxs_eval.models import Comparison, Judgement, JudgingBatch, RaterState, RaterStatus, TrialKind
from sxs_eval.selectors.overview import MAX_FAILURES_SHOWN, RaterRow, failures_of, raters_of
from tests.clients import client_of
from tests.factories import NOW, make_comparison, make_project, make_rater, make_user
from tests.kept import kept
from tests.queries import queries_of
from tests.sxs_eval.setting_up import judge_in_turn

pytestmark = pytest.mark.django_db


@kept
def comparison() -> Comparison:
    made = make_comparison(project=make_project("lions"), images=6, batch_size=6, gold_percent=50)
    # Gold pairs are put in by hand below, so that it is known where they are.
    Comparison.objects.filter(pk=made.pk).update(gold_percent=0)
    made.refresh_from_db()
    return made


@pytest.fixture
def manager(comparison) -> Client:
    return client_of(comparison.project.created_by)


def path_of(comparison: Comparison) -> str:
    return reverse("sxs_eval:rater-list", args=["lions", comparison.pk])


def decide(client: Client, comparison: Comparison, rater: User, decision: str, note: str = "Clicks at random."):
    path = reverse("sxs_eval:rater-decide", args=["lions", comparison.pk, rater.pk])
    return client.post(path, {"decision": decision, "note": note}, follow=True)


positions = count(100)


def show_gold(batch: JudgingBatch, *, score: int, **more) -> Judgement:
    gold = batch.comparison.gold_pairs.order_by("pk").first()
    values = {
        "kind": TrialKind.GOLD,
        "gold": gold,
        "test_is_left": True,
        "choice": score,
        "score": score,
        "judged_at": NOW,
    }
    return batch.judgements.create(
        scale=7, position=next(positions), comparison=batch.comparison, person=batch.lease.person, **(values | more)
    )


def show_again(original: Judgement, *, score: int) -> Judgement:
    is_left = not original.test_is_left
    return original.batch.judgements.create(
        scale=7,
        position=next(positions),
        comparison=original.comparison,
        person=original.person,
        kind=TrialKind.REPEAT,
        pair=original.pair,
        repeated=original,
        test_is_left=is_left,
        choice=score if is_left else -score,
        score=score,
        judged_at=NOW,
    )


def pause(comparison: Comparison, rater: User) -> RaterStatus:
    return RaterStatus.objects.create(comparison=comparison, person=rater, paused_at=NOW)


class TestWhatIsShown:
    def test_counts_of_one_rater_are_of_what_they_did(self, comparison):
        rater = make_rater(comparison)
        batch = judge_in_turn(comparison, rater, [3, 2, -1, 0, 1])
        show_gold(batch, score=3)
        show_gold(batch, score=0)
        show_gold(batch, score=-2)
        show_gold(batch, score=-2, is_late=True)
        first = batch.judgements.exclude(score=0).exclude(score=None).filter(kind=TrialKind.PAIR).first()
        show_again(first, score=-first.score)
        Judgement.objects.filter(batch=batch, position=5).update(is_late=True)
        row = raters_of(comparison)[0]
        assert (row.person, row.judged, row.late) == (rater, 4, 1)
        assert (row.gold.passed, row.gold.failed, row.repeats.passed, row.repeats.failed) == (1, 2, 0, 1)
        assert (row.left, row.decided, row.left_percent) == (2, 3, 67)
        assert row.median_s == 2.5

    def test_without_answers_there_is_no_median_and_no_share(self, comparison):
        row = RaterRow(make_rater(comparison), None)
        assert (row.median_s, row.left_percent, row.state) == (None, None, "")

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_paused_raters_come_first_and_with_what_they_failed(self, manager, comparison):
        ann, zoe = make_rater(comparison, "ann"), make_rater(comparison, "zoe")
        judge_in_turn(comparison, ann, [1] * 6)
        failed = show_gold(judge_in_turn(comparison, zoe, [1] * 6), score=-1)
        pause(comparison, zoe)
        response = manager.get(path_of(comparison))
        assert [row.person for row in response.context["raters"]] == [zoe, ann]
        page = response.content.decode()
        assert failed.gold.better in page
        assert failed.gold.worse in page
        assert "Right is slightly better" in page
        assert f'id="rater-{zoe.pk}"' in page
        assert f'id="rater-{ann.pk}"' not in page

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_anybody_else_is_looked_at_on_demand(self, manager, comparison):
        rater = make_rater(comparison)
        judge_in_turn(comparison, rater, [1] * 6)
        page = manager.get(path_of(comparison), {"rater": rater.pk}).content.decode()
        assert f'id="rater-{rater.pk}"' in page
        assert "No attention items failed." in page
        for odd in ("none", "99999", ""):
            assert manager.get(path_of(comparison), {"rater": odd}).status_code == 200

    def test_a_failed_repeat_is_shown_with_both_answers_as_they_were_given(self, manager, comparison):
        rater = make_rater(comparison)
        original = judge_in_turn(comparison, rater, [2] * 6).judgements.first()
        again = show_again(original, score=-original.score)
        [item] = failures_of(comparison, rater)
        # Left both times: with the sides swapped that is the opposite.
        assert item.repeated.answer.label == item.answer.label == "Left is better"
        test, base = again.pair.test_caption.text, again.pair.base_caption.text
        assert item.sides == ((test, base) if again.test_is_left else (base, test))
        page = " ".join(manager.get(path_of(comparison), {"rater": rater.pk}).content.decode().split())
        assert page.count("<dd>Left is better</dd>") == 2
        assert '<span class="tag tag--success"> better' not in page

    def test_the_better_side_of_a_gold_pair_is_marked_and_no_more_failures_are_shown_than_so_many(
        self, manager, comparison
    ):
        rater = make_rater(comparison)
        batch = judge_in_turn(comparison, rater, [2] * 6)
        gold = show_gold(batch, score=-1, choice=1, test_is_left=False).gold
        [item] = failures_of(comparison, rater)
        assert item.sides == (gold.worse, gold.better)
        assert item.answer.label == "Left is slightly better"
        page = " ".join(manager.get(path_of(comparison), {"rater": rater.pk}).content.decode().split())
        assert 'Right <span class="tag tag--success"> better' in page
        assert 'Left <span class="tag tag--success"> better' not in page
        for _ in range(MAX_FAILURES_SHOWN + 3):
            show_gold(batch, score=-1)
        items = failures_of(comparison, rater)
        assert len(items) == MAX_FAILURES_SHOWN

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_it_costs_the_same_however_many_judged(self, manager, comparison):
        judge_in_turn(comparison, make_rater(comparison), [1] * 2)
        counts = []
        for _ in range(2):
            counts.append(len(queries_of(lambda: manager.get(path_of(comparison)))))
            judge_in_turn(comparison, make_rater(comparison), [1] * 2)
        assert counts[0] == counts[1] <= 12

    def test_without_raters_it_says_so(self, manager, comparison):
        assert "Nobody has judged a pair in this comparison yet." in manager.get(path_of(comparison)).content.decode()


class TestDeciding:
    @pytest.fixture
    def rater(self, comparison) -> User:
        rater = make_rater(comparison, "zoe")
        show_gold(judge_in_turn(comparison, rater, [1] * 6), score=-1)
        return rater

    def test_who_goes_on_counts_again_and_earlier_failures_are_forgiven(self, manager, comparison, rater):
        pause(comparison, rater)
        page = decide(manager, comparison, rater, "restore", "Knows better.").content.decode()
        assert "zoe is restored" in page
        status = RaterStatus.objects.get()
        assert (status.state, status.note) == (RaterState.RESTORED, "Knows better.")
        assert status.decided_by == comparison.project.created_by
        assert status.checks_from is not None
        assert "Knows better." in page
        assert "forgiven · " in manager.get(path_of(comparison), {"rater": rater.pk}).content.decode()
        assert set(Task.objects.values_list("places_taken", flat=True)) == {1}

    @pytest.mark.parametrize("is_paused", [True, False])
    def test_leaving_out_says_what_it_did_and_frees_the_places(self, manager, comparison, rater, is_paused):
        other = make_rater(comparison)
        judge_in_turn(comparison, other, [0] * 6)
        if is_paused:
            pause(comparison, rater)
        before = manager.get(path_of(comparison), {"rater": rater.pk}).content.decode()
        assert "6 judgements are kept but do not count, and other raters judge those pairs" in before
        page = decide(manager, comparison, rater, "exclude").content.decode()
        assert "6 judgements are kept but do not count" in page
        assert RaterStatus.objects.get().state == RaterState.EXCLUDED
        assert set(Task.objects.values_list("places_taken", flat=True)) == {1}
        assert Judgement.objects.filter(person=rater, kind=TrialKind.PAIR).count() == 6

    def test_leaving_out_needs_a_note_and_a_long_one_is_refused_and_kept_in_the_field(self, manager, comparison, rater):
        response = decide(manager, comparison, rater, "exclude", " ")
        assert response.status_code == 422
        assert "Enter a reason for excluding this rater" in response.content.decode()
        assert not RaterStatus.objects.exists()
        response = decide(manager, comparison, rater, "exclude", "x" * 501)
        assert response.status_code == 422
        assert "at most 500 characters" in response.content.decode()
        assert "x" * 501 in response.content.decode()

    @pytest.mark.parametrize("decision", ["", "promote"])
    def test_another_decision_is_refused(self, manager, comparison, rater, decision):
        response = decide(manager, comparison, rater, decision)
        assert response.status_code == 422
        assert "Choose one of the buttons" in response.content.decode()

    def test_who_was_left_out_does_not_come_back(self, manager, comparison, rater):
        decide(manager, comparison, rater, "exclude")
        page = decide(manager, comparison, rater, "restore").content.decode()
        assert "stays excluded" in page
        assert RaterStatus.objects.get().state == RaterState.EXCLUDED
        assert "This cannot be undone" in manager.get(path_of(comparison), {"rater": rater.pk}).content.decode()

    def test_who_was_not_paused_simply_goes_on_and_who_judged_nothing_here_is_not_found(
        self, manager, comparison, rater
    ):
        assert "was not paused" in decide(manager, comparison, rater, "restore").content.decode()
        assert not RaterStatus.objects.exists()
        elsewhere = make_comparison(project=comparison.project)
        stranger = make_user()
        judge_in_turn(elsewhere, make_rater(elsewhere), [0])
        assert decide(manager, comparison, stranger, "exclude").status_code == 404
        assert decide(manager, elsewhere, rater, "exclude").status_code == 404
        assert not RaterStatus.objects.exists()
