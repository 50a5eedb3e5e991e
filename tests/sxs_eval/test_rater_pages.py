"""The rater's pages: who gets in, what they show in each state, what an answer leads to, and that they tell nothing."""

from __future__ import annotations

import gzip
import re
from datetime import timedelta
from html import unescape
from random import Random

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.allocation.models import Batch
from core.allocation.services.lifecycle import expire_overdue
from core.people.models import Consent, User
from sxs_eval.models import Comparison, Judgement, JudgingBatch, RaterState, RaterStatus, TrialKind
from sxs_eval.selectors.work import MAX_AHEAD, work_of
from sxs_eval.services.judging import MAX_COMMENT_CHARACTERS
from sxs_eval.views import judging
from tests.clients import client_of
from tests.factories import NOW, make_captioner, make_collection, make_comparison, make_rater, make_user
from tests.kept import kept
from tests.queries import queries_of

pytestmark = pytest.mark.django_db
JSON = {"Accept": "application/json"}
LEFT_MUCH_BETTER = "3"


@pytest.fixture(autouse=True)
def _drawn_alike_each_time(monkeypatch) -> None:
    monkeypatch.setattr(judging, "RNG", Random(1))


@kept
def comparison() -> Comparison:
    return make_comparison(images=4)


@pytest.fixture
def rater(comparison) -> User:
    return make_rater(comparison, "ria")


@pytest.fixture
def desk(rater) -> Client:
    return client_of(rater)


def take(desk: Client, comparison: Comparison) -> JudgingBatch:
    desk.post(reverse("sxs_eval:batch-take", args=[comparison.pk]))
    return JudgingBatch.objects.get(lease__person=desk.session["_auth_user_id"], lease__state="open")


def show(desk: Client, batch: JudgingBatch) -> str:
    return desk.get(reverse("sxs_eval:batch-show", args=[batch.pk])).content.decode()


def answer(desk: Client, batch: JudgingBatch, position: int, choice: str = LEFT_MUCH_BETTER, **more):
    fields = {"choice": choice} | more.pop("fields", {})
    return desk.post(reverse("sxs_eval:judgement-save", args=[batch.pk, position]), fields, **more)


def undo(desk: Client, batch: JudgingBatch, position: int, **more):
    return desk.post(reverse("sxs_eval:judgement-undo", args=[batch.pk, position]), **more)


def resume(desk: Client, batch: JudgingBatch):
    return desk.post(reverse("sxs_eval:batch-resume", args=[batch.pk]))


def return_batch(desk: Client, batch: JudgingBatch):
    return desk.post(reverse("sxs_eval:batch-return", args=[batch.pk]), follow=True)


def let_time_run_out(batch: JudgingBatch) -> None:
    Batch.objects.filter(pk=batch.pk).update(deadline=timezone.now() - timedelta(minutes=1))


def captions_of(html: str) -> list[str]:
    shown = html.partition("<template")[0]
    return [unescape(text) for text in re.findall(r"data-caption>(.*?)</p>", shown)]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_work_tells_what_waits_in_words_and_numbers_and_nothing_of_models():
    collection = make_collection(4)
    base = make_captioner(collection, "Quartz", text="base caption", language="de")
    test = make_captioner(collection, "Feldspar", text="test caption", language="de")
    comparison = make_comparison(collection=collection, base=base, test=test)
    desk = client_of(make_rater(comparison))
    before = desk.get("/compare/").content.decode()
    batch = take(desk, comparison)
    answer(desk, batch, 1)
    after = desk.get("/compare/").content.decode()
    assert "German" in before
    assert f"comparison {comparison.pk}" in before
    assert "Take a batch" in before
    assert "1 of 4 pairs of this batch judged" in after
    assert "1 pair judged." in after
    for page in (before, after, show(desk, batch)):
        assert "Quartz" not in page
        assert "Feldspar" not in page


def test_work_tells_who_has_not_consented_what_to_do(comparison, desk, rater):
    Consent.objects.filter(user=rater).delete()
    page = desk.get("/compare/").content.decode()
    assert reverse("people:consent-give", args=[comparison.project.slug]) in page
    assert "Take a batch" not in page


def test_somebody_without_a_comparison_is_told_when_there_would_be_one():
    assert "No work right now" in client_of(make_user()).get("/compare/").content.decode()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_captions_are_on_the_sides_that_were_drawn(desk, rater):
    comparison = make_comparison(images=12, project=rater.memberships.get().project)
    batch = take(desk, comparison)
    drawn = set()
    for row in batch.judgements.all():
        left, right = captions_of(show(desk, batch))
        test, base = (left, right) if row.test_is_left else (right, left)
        assert (test.split()[0], base.split()[0]) == ("test", "base")
        answer(desk, batch, row.position)
        drawn.add(row.test_is_left)
    assert drawn == {True, False}


def test_captions_have_the_language_and_direction_of_their_own():
    comparison = make_comparison(images=1, language="ar")
    desk = client_of(make_rater(comparison))
    page = show(desk, take(desk, comparison))
    assert len(re.findall(r'<p lang="ar" dir="rtl" data-caption>', page)) == 2
    assert page.index('id="left-side"') < page.index('id="right-side"')


@pytest.mark.parametrize(
    ("scale", "values"), [(7, ["3", "2", "1", "0", "-1", "-2", "-3"]), (5, ["3", "2", "0", "-2", "-3"])]
)
def test_the_answers_go_from_left_much_better_to_right_much_better(scale, values):
    comparison = make_comparison(images=1, scale=scale)
    desk = client_of(make_rater(comparison))
    page = show(desk, take(desk, comparison))
    buttons = re.findall(r'name="choice" value="(.*?)"><span class="visually-hidden">(.*?)<', page)
    assert [value for value, _label in buttons] == values
    assert [buttons[0][1], buttons[-1][1]] == ["Left is much better", "Right is much better"]


def test_pairs_gold_pairs_and_repeats_look_exactly_alike():
    comparison = make_comparison(images=12, gold_percent=50, repeat_percent=50, checks_before_pause=100)
    desk = client_of(make_rater(comparison))
    batch = take(desk, comparison)
    rows = list(batch.judgements.all())
    pages, ahead = [], set()
    for row in rows:
        page, *following = _trials(show(desk, batch))
        pages.append(page)
        reply = answer(desk, batch, row.position, "0", headers=JSON).json()
        ahead |= {*following, *_trials(reply.get("html", "") + reply.get("ahead", ""))}
    assert {row.kind for row in rows[1:]} == set(TrialKind.values)
    assert set(pages[1:]) == {pages[1]}
    assert pages[0] != pages[1], "the first has nothing to undo"
    assert len(ahead) == 1
    for word in TrialKind.values[1:]:
        assert word not in pages[1].lower()


def _trials(html: str) -> list[str]:
    return [_shape(trial) for trial in re.findall(r'<form id="trial".*?</form>', html, re.DOTALL)]


def _shape(html: str) -> str:
    """The page without what differs from image to image: captions, numbers, addresses and tokens."""
    html = re.sub(r"data-caption>.*?</p>", "data-caption></p>", html)
    html = re.sub(r'(name="csrfmiddlewaretoken" value)="\w+"', r"\1", html)
    html = re.sub(r"/images/[^\s\",]+", "/image", html)
    return re.sub(r"\d+", "#", html)


@pytest.mark.postgres
def test_an_answer_of_the_script_brings_the_next_pair_and_the_last_one_the_end(comparison, desk):
    batch = take(desk, comparison)
    first = answer(desk, batch, 1, headers=JSON)
    assert first.json()["state"] == "next"
    second, third = (reverse("sxs_eval:judgement-save", args=[batch.pk, position]) for position in (2, 3))
    assert second in first.json()["html"]
    assert f'action="{third}"' in first.json()["ahead"]
    assert f'formaction="{reverse("sxs_eval:judgement-undo", args=[batch.pk, 2])}"' in first.json()["ahead"]
    assert "no-store" in first.headers["Cache-Control"]
    # Whoever has the next pair already gets only the one after it, unless another is next by now.
    assert (undo(desk, batch, 1, headers=JSON).status_code, answer(desk, batch, 1).status_code) == (200, 302)
    again = answer(desk, batch, 1, fields={"shown": "2"}, headers=JSON).json()
    assert (again["html"], third in again["ahead"]) == ("", True)
    assert third in answer(desk, batch, 2, fields={"shown": "9"}, headers=JSON).json()["html"]
    answer(desk, batch, 3)
    last = answer(desk, batch, 4, headers=JSON)
    assert last.json() == {"state": "end", "location": reverse("sxs_eval:batch-show", args=[batch.pk])}


def test_the_page_has_the_pairs_that_follow_and_stays_light_and_answers_bring_those_that_it_lacks():
    comparison = make_comparison(images=MAX_AHEAD + 3, batch_size=MAX_AHEAD + 3)
    desk = client_of(make_rater(comparison))
    batch = take(desk, comparison)
    page = show(desk, batch)
    assert len(_trials(page)) == 1 + MAX_AHEAD
    # Compressed, as in production.
    assert len(gzip.compress(page.encode())) < 20_000
    brought = answer(desk, batch, 1, fields={"shown": "2", "last": f"{MAX_AHEAD + 1}"}, headers=JSON).json()
    assert (brought["html"], len(_trials(brought["ahead"]))) == ("", 1)
    assert f'action="{reverse("sxs_eval:judgement-save", args=[batch.pk, MAX_AHEAD + 2])}"' in brought["ahead"]
    # Another pair is next than was thought: all comes again.
    brought = answer(desk, batch, 2, fields={"shown": "9", "last": f"{MAX_AHEAD + 2}"}, headers=JSON).json()
    assert (len(_trials(brought["html"])), len(_trials(brought["ahead"]))) == (1, MAX_AHEAD)


def test_the_end_offers_to_undo_to_go_on_and_to_stop(comparison, desk):
    batch = take(desk, comparison)
    for position in range(1, 5):
        answer(desk, batch, position)
    page = show(desk, batch)
    assert "All judged" in page
    assert reverse("sxs_eval:judgement-undo", args=[batch.pk, 4]) in page
    assert reverse("sxs_eval:batch-take", args=[comparison.pk]) not in page, "nothing is left"
    assert "Take a batch" not in desk.get("/compare/").content.decode()
    undo(desk, batch, 4)
    assert "Pair 4 of 4" in show(desk, batch)
    answer(desk, batch, 4)
    finished = desk.post(reverse("sxs_eval:batch-return", args=[batch.pk]), follow=True)
    assert "Your answers count" in finished.content.decode()
    batch.lease.refresh_from_db()
    assert batch.lease.state == "done"


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_end_of_a_batch_leads_on_to_the_next_one():
    comparison = make_comparison(images=6, batch_size=3)
    desk = client_of(make_rater(comparison))
    batch = take(desk, comparison)
    for position in range(1, 4):
        answer(desk, batch, position)
    page = show(desk, batch)
    assert reverse("sxs_eval:batch-take", args=[comparison.pk]) in page
    assert "no pairs left to judge" not in page


def test_only_the_last_answer_can_be_undone(comparison, desk):
    batch = take(desk, comparison)
    answer(desk, batch, 1)
    answer(desk, batch, 2, fields={"comment": "a\r\nb"})
    assert undo(desk, batch, 1, headers=JSON).status_code == 409
    assert undo(desk, batch, 2, headers=JSON).json()["state"] == "next"
    assert list(batch.judgements.values_list("choice", flat=True)) == [3, None, None, None]
    assert re.search(r"<details[^>]* open>.*a\nb</textarea>", show(desk, batch), re.DOTALL)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_batch_returned_or_out_of_time_can_be_resumed(comparison, desk):
    batch = take(desk, comparison)
    answer(desk, batch, 1)
    assert "You judged 1 of its 4 pairs" in desk.get(reverse("sxs_eval:batch-return", args=[batch.pk])).content.decode()
    assert "Your answers count." in return_batch(desk, batch).content.decode()
    assert "You returned this batch" in show(desk, batch)
    assert "You returned a batch." in desk.get("/compare/").content.decode()
    resume(desk, batch)
    assert "Pair 2 of 4" in show(desk, batch)

    let_time_run_out(batch)
    for _swept in range(2):
        assert "This batch expired" in show(desk, batch)
        assert captions_of(show(desk, batch)) == []
        assert "A batch expired." in desk.get("/compare/").content.decode()
        expire_overdue(now=timezone.now())
    resume(desk, batch)
    assert "Pair 2 of 4" in show(desk, batch)


def test_a_batch_is_offered_again_only_while_something_of_it_is_free(desk, rater):
    comparison = make_comparison(images=2, replication=1, project=rater.memberships.get().project)
    batch = take(desk, comparison)
    answer(desk, batch, 1)
    let_time_run_out(batch)
    offer = reverse("sxs_eval:batch-resume", args=[batch.pk])
    assert offer in desk.get("/compare/").content.decode()
    expire_overdue(now=timezone.now())
    assert offer in desk.get("/compare/").content.decode()
    take(client_of(make_rater(comparison)), comparison)
    assert offer not in desk.get("/compare/").content.decode()
    assert "has been reassigned" in desk.post(offer, follow=True).content.decode()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_work_does_not_count_pairs_of_a_batch_that_went_to_others(desk, rater):
    comparison = make_comparison(images=3, replication=1, project=rater.memberships.get().project)
    batch = take(desk, comparison)
    answer(desk, batch, 1)
    return_batch(desk, batch)
    comparison.pool.batch_size = 1
    comparison.pool.save()
    take(client_of(make_rater(comparison)), comparison)
    resume(desk, batch)
    assert "1 of 2 pairs of this batch judged" in desk.get("/compare/").content.decode()
    assert "Pair 2 of 2" in show(desk, batch)


def test_a_batch_all_of_which_is_judged_stays_thanked_for_when_its_time_is_over(comparison, desk):
    batch = take(desk, comparison)
    for position in range(1, 5):
        answer(desk, batch, position)
    let_time_run_out(batch)
    page = show(desk, batch)
    assert "All judged" in page
    assert "judgement-undo" not in page
    assert "/undo/" not in page


def test_an_answer_that_cannot_be_kept_says_why_and_leads_on(comparison, desk, rater):
    batch = take(desk, comparison)
    here = reverse("sxs_eval:batch-show", args=[batch.pk])
    answer(desk, batch, 1)
    for choice, fields, status, message in (
        ("-3", {}, 409, "answered this pair in another tab"),
        ("7", {}, 422, "Choose one of the answers (3, 2, 1, 0, -1, -2, -3)."),
        ("", {}, 422, "Choose one of the answers (3, 2, 1, 0, -1, -2, -3)."),
        ("2", {"comment": "x" * (MAX_COMMENT_CHARACTERS + 1)}, 422, f"longer than {MAX_COMMENT_CHARACTERS} characters"),
    ):
        position = 1 if status == 409 else 2
        stopped = answer(desk, batch, position, choice, fields=fields, headers=JSON)
        assert (stopped.status_code, stopped.json()["location"]) == (status, here)
        assert message in stopped.json()["message"]
    # What the script has shown in its place is not said again on the next page, where it leads to one it is.
    assert show(desk, batch).count("notice--warning") == 1
    assert answer(desk, batch, 99, headers=JSON).status_code == 404

    return_batch(desk, batch)
    assert answer(desk, batch, 2, headers=JSON).status_code == 410
    resume(desk, batch)
    RaterStatus.objects.create(comparison=comparison, person=rater, state=RaterState.PAUSED)
    paused = answer(desk, batch, 2, headers=JSON)
    assert (paused.status_code, paused.json()["location"]) == (410, "/compare/")
    page = desk.get(reverse("sxs_eval:batch-show", args=[batch.pk]), follow=True)
    assert page.redirect_chain == [("/compare/", 302)]
    assert "were inconsistent" in page.content.decode()
    assert "A manager of the project must review them" in desk.get("/compare/").content.decode()
    assert Judgement.objects.filter(choice__isnull=False).count() == 1


def test_a_form_is_told_in_words_what_stopped_its_answer(comparison, desk):
    batch = take(desk, comparison)
    answer(desk, batch, 1)
    page = answer(desk, batch, 1, "-3", follow=True)
    assert "answered this pair in another tab" in page.content.decode()
    assert "Pair 2 of 4" in page.content.decode()


def test_who_is_signed_out_is_told_and_led_back_to_the_batch(comparison, desk):
    batch = take(desk, comparison)
    here = reverse("sxs_eval:batch-show", args=[batch.pk])
    for act in (answer, undo):
        stopped = act(Client(), batch, 1, headers=JSON)
        assert stopped.status_code == 401
        assert stopped.json()["location"] == f"{reverse('account_login')}?next={here}"
        assert act(Client(), batch, 1).status_code == 302
    assert Judgement.objects.filter(choice__isnull=False).count() == 0


def test_an_answer_that_came_too_late_is_said_to_be_so(comparison, desk):
    batch = take(desk, comparison)
    let_time_run_out(batch)
    expire_overdue(now=timezone.now())
    comparison.pool.is_open = False
    comparison.pool.save()
    answer(desk, batch, 1)
    assert "It is kept, but does not count" in show(desk, batch)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_queries_for_the_work_of_a_rater_do_not_grow_with_the_comparisons():
    first = make_comparison(images=2)
    rater = make_rater(first)

    def queries() -> int:
        return len(queries_of(lambda: work_of(rater, NOW)))

    before = queries()
    for _ in range(3):
        make_comparison(images=2, project=first.project)
    assert queries() == before
    assert [work.is_anything_left for work in work_of(rater, NOW)] == [True] * 4
