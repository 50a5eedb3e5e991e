"""A rater who reports a pair cannot tell from any answer whether it was an attention item."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from core.conversation.models import ImageReport
from core.conversation.services import report_image
from office.recruitment.models import Participant, WorkRole
from office.recruitment.selectors.work import batches_done
from sxs_eval.models import GoldPair, Judgement, JudgingBatch, TrialKind
from sxs_eval.rules.judging import MIN_GAP
from sxs_eval.selectors.work import progress_of
from sxs_eval.services import judging
from tests.allocation.test_exact_replication import assert_exact
from tests.clients import client_of
from tests.factories import make_collection, make_comparison, make_rater
from tests.recruitment.panel import make_study

pytestmark = pytest.mark.django_db
BATCHES = "/api/v1/work/comparing/batches/"


def make_batch() -> JudgingBatch:
    """Ten pairs, of which some come again, and two gold pairs."""
    comparison = make_comparison(images=10, gold_percent=20, repeat_percent=30, batch_size=10)
    for entry in make_collection(images=2).entries.all():
        GoldPair.objects.create(comparison=comparison, image_id=entry.image_id, better="Ein Hund", worse="Ein Boot")
    about: dict[str, Any] = {"comparison": comparison, "person": make_rater(comparison), "rng": Random(2)}
    batch = judging.take_batch(**about, now=timezone.now())
    assert batch is not None
    return batch


def judge_before(batch: JudgingBatch, position: int) -> None:
    for trial in progress_of(batch):
        if trial.position < position:
            about: dict[str, Any] = {"batch_id": batch.pk, "person": batch.lease.person, "now": timezone.now()}
            judging.judge(**about, position=trial.position, choice=1)


class RaterReporting:
    """Everything that a rater is told who reports one trial."""

    def __init__(self, batch: JudgingBatch, position: int, *, is_returned: bool) -> None:
        self.client, self.batch, self.position = client_of(batch.lease.person), batch, position
        judge_before(batch, position)
        self.before = self.numbers()
        if is_returned:
            judging.return_batch(batch_id=batch.pk, person=batch.lease.person, now=timezone.now())

    def numbers(self) -> dict[str, Any]:
        return dict(self.client.get(f"{BATCHES}{self.batch.pk}/").json())

    def told(self) -> list[Any]:
        report, place = f"/report/pairs/{self.batch.pk}/{self.position}/", f"{self.batch.pk}/"
        said: list[Any] = [self.client.get(report).status_code]
        for _again in range(2):
            page = self.client.post(report, {"reason": "broken"}, follow=True)
            said += [page.redirect_chain, [str(one) for one in page.context["messages"]]]
            said.append(self.client.get(report).status_code)
        api = f"/api/v1/work/reports/pairs/{self.batch.pk}/{self.position}/"
        said.append(self.client.post(api, {"reason": "broken", "comment": "again"}).status_code)
        judgement = f"{BATCHES}{place}judgements/{self.position}/"
        refused = self.client.put(judgement, {"choice": 1}, content_type="application/json")
        said += [refused.status_code, refused.json()["code"], self.client.delete(judgement).status_code]
        self.client.post(f"{BATCHES}{place}resume/")
        after = self.numbers()
        same = {name: after[name] == self.before[name] for name in after if name != "deadline"}
        said += [same, after["size"] - self.before["size"], after["answered"] - self.before["answered"]]
        said.append(self.client.get("/api/v1/work/comparing/").json()["comparisons"][0]["open_batch"]["size"])
        return said


@pytest.mark.parametrize("is_returned", [False, True])
def test_reports_of_pairs_and_of_attention_items_have_the_same_answers(is_returned: bool) -> None:
    batch = make_batch()
    # Neither the first one, before which nothing is answered, nor the last one, after which all is.
    trials = list(Judgement.objects.filter(batch=batch).order_by("-position"))[1:-1]
    kinds = {f"{trial.kind}{', repeated' if hasattr(trial, 'repeat') else ''}": trial.position for trial in trials}
    told: dict[str, list[Any]] = {}
    for kind, position in kinds.items():
        with transaction.atomic():
            told[kind] = RaterReporting(batch, position, is_returned=is_returned).told()
            transaction.set_rollback(True)

    assert {"gold", "repeat", "pair", "pair, repeated"} == set(told)
    assert len({repr(answers) for answers in told.values()}) == 1, told


def test_a_reported_attention_item_is_kept_out_of_its_batch_and_of_what_a_panel_waits_for() -> None:
    batch = make_batch()
    rater, comparison = batch.lease.person, batch.comparison
    study = make_study(comparison.project, role=WorkRole.RATER)
    arrived = {"panel_id": "5f1a", "arrived_at": batch.lease.taken_at}
    participant = Participant.objects.create(study=study, user=rater, **arrived)
    gold, repeat = (batch.judgements.filter(kind=kind).first() for kind in (TrialKind.GOLD, TrialKind.REPEAT))
    for trial in (gold, repeat):
        client_of(rater).post(f"/report/pairs/{batch.pk}/{trial.position}/", {"reason": "broken"})
    judge_before(batch, 1000)

    assert ImageReport.objects.filter(person=rater).count() == 2
    assert set(batch.judgements.filter(is_skipped=True)) == {gold, repeat}
    assert batches_done(participant) == 1
    assert_exact(comparison.pool)


def test_the_repeat_of_a_reported_pair_repeats_another_with_its_sides_swapped() -> None:
    batch = make_batch()
    repeat = batch.judgements.filter(kind=TrialKind.REPEAT).latest("position")
    about: dict[str, Any] = {"reason": "broken", "comment": "", "kind": "pairs", "batch_id": batch.pk}
    report_image(**about, position=repeat.repeated.position, person=batch.lease.person, now=timezone.now())

    before, repeat = repeat.repeated, batch.judgements.get(pk=repeat.pk)
    assert repeat.repeated != before
    assert (repeat.pair, repeat.test_is_left) == (repeat.repeated.pair, not repeat.repeated.test_is_left)
    assert repeat.position - repeat.repeated.position > MIN_GAP


def test_a_pair_is_reported_although_its_repeat_has_been_answered_which_fails_nobody() -> None:
    batch = make_batch()
    repeat = batch.judgements.filter(kind=TrialKind.REPEAT).latest("position")
    batch.judgements.filter(pk=repeat.pk).update(
        choice=1, score=1 if repeat.test_is_left else -1, judged_at=batch.lease.taken_at
    )
    report = f"/report/pairs/{batch.pk}/{repeat.repeated.position}/"

    assert client_of(batch.lease.person).post(report, {"reason": "broken"}).status_code == 302
    kept = batch.judgements.get(pk=repeat.pk)
    assert (kept.repeated, kept.choice, kept.is_skipped) == (repeat.repeated, 1, False)
    assert ImageReport.objects.filter(person=batch.lease.person).count() == 1
