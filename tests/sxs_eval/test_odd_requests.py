"""Requests that no page of ours sends: they are refused, and nothing falls over."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from sxs_eval.models import Judgement, JudgingBatch
from tests.clients import client_of
from tests.factories import NOW, make_comparison, make_rater
from tests.kept import kept
from tests.sxs_eval.judged import take
from tests.tiers import some

pytestmark = pytest.mark.django_db
DIGITS = "9" * 5000


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)


@kept
def batch() -> JudgingBatch:
    comparison = make_comparison(images=3, batch_size=3)
    return take(comparison, make_rater(comparison))


@pytest.fixture
def desk(batch) -> Client:
    return client_of(batch.lease.person)


def save(batch, position: int = 1) -> str:
    return reverse("sxs_eval:judgement-save", args=[batch.pk, position])


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_position_that_is_not_there_is_not_found(desk, batch):
    for position in (0, 4, 32768, 2**31, 2**63, 10**40):
        assert desk.post(save(batch, position), {"choice": "1"}).status_code == 404
        assert desk.post(save(batch, position) + "undo/").status_code == 404


def test_a_choice_that_is_none_is_said_to_be_so(desk, batch):
    for choice in ("", "x", "4", "-4", "--1", "1.0", "٣", "9" * 30, DIGITS, "-", "1e0", "\x00", " 1"):
        response = desk.post(save(batch), {"choice": choice}, headers={"accept": "application/json"})
        assert response.status_code == 422, choice
    assert not Judgement.objects.filter(choice__isnull=False).exists()


def test_whatever_stands_for_the_time_the_answer_is_kept(desk, batch):
    for active_ms in ("", "-5", "x", DIGITS, "99999999999", "1.5", "٣"):
        sent = {"choice": "1", "active_ms": active_ms}
        assert desk.post(save(batch), sent, headers={"accept": "application/json"}).status_code == 200, active_ms
        assert Judgement.objects.get(batch=batch, position=1).active_ms == 0


def test_a_comment_is_kept_as_long_as_it_may_be(desk, batch):
    for comment, status in (
        ("😀" * 2001, 422), ("😀" * 2000, 200), ("\u202eabc\u2066", 200), ("a\x00b", 200), ("\r\n" * 1500 + "x", 200),
    ):  # fmt: skip
        response = desk.post(save(batch), {"choice": "1", "comment": comment}, headers={"accept": "application/json"})
        assert response.status_code == status
        kept = Judgement.objects.get(batch=batch, position=1)
        assert (kept.choice is not None) == (status == 200)
        assert "\x00" not in kept.comment


def test_what_changes_something_is_not_done_by_reading(desk, batch):
    args = {"judgement-save": [batch.pk, 1], "judgement-undo": [batch.pk, 1], "batch-resume": [batch.pk]}
    for name in (*args, "batch-take"):
        path = reverse(f"sxs_eval:{name}", args=args.get(name, [batch.comparison_id]))
        assert {desk.get(path).status_code, desk.head(path).status_code} == {405}, name


def test_without_the_token_of_the_page_nothing_is_kept(batch):
    stranger = client_of(batch.lease.person, enforce_csrf_checks=True)
    assert stranger.post(save(batch), {"choice": "1"}).status_code == 403
    assert not Judgement.objects.filter(choice__isnull=False).exists()


@pytest.mark.parametrize("name", ["sxs_eval:instructions-show", "annotation:guidelines-show"])
def test_a_version_that_is_none_is_not_found_or_the_newest(desk, batch, name):
    path = reverse(name, args=[batch.comparison.project.slug])
    for version in (DIGITS, "9" * 30, "0", "-1", "x", "٣", "²", "\x00"):
        assert desk.get(path, {"version": version}).status_code in (200, 404), version


ODD = [DIGITS, "\x00", "-1", "0", "x", "٣", "9" * 30, "😀"]


@pytest.mark.parametrize("value", some(ODD, short=2, reason="more words, which the same lines refuse"))
def test_odd_words_in_the_addresses_of_managers_pages_are_no_error(batch, value):
    comparison = batch.comparison
    client = client_of(comparison.project.created_by)
    slug = comparison.project.slug
    for name, args in (
        ("pair-list", [slug, comparison.pk]),
        ("rater-list", [slug, comparison.pk]),
        ("gold-list", [slug, comparison.pk]),
        ("comparison-show", [slug, comparison.pk]),
        ("results-show", [slug]),
        ("comparison-create", [slug]),
        ("plan-show", [slug]),
    ):
        names = ("page", "rater", "collection", "base", "test", "show", "score", "state", "region", "q", "filter")
        response = client.get(reverse(f"sxs_eval:{name}", args=args), dict.fromkeys(names, value))
        assert response.status_code in (200, 302, 404, 422), name
