"""One action on many rounds: each by itself, those that refuse left out with the reason, and no step taken twice."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import tasks
from annotation.models import Feedback, Round, RoundFigures, RoundKind, RoundState
from annotation.rules.campaign import RoundAction, UnfinishedBatches
from annotation.services import bulk, campaign
from annotation.services.campaign import LanguageBeginning
from core.allocation.models import Batch, BatchState
from core.people.models import AuditEntry, LanguageLevel, LanguageSkill, Project, User
from tests.annotation.submitting import begin_language, submit_captions, take
from tests.clients import client_of
from tests.concurrency import together
from tests.factories import join_project, make_annotator, make_captioner, make_collection, make_project
from tests.kept import kept
from tests.queries import queries_of
from tests.tiers import runs

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_is_sent(monkeypatch):
    monkeypatch.setattr(tasks.fill_round, "delay", lambda round_id: None)


def begin(tags: Sequence[str], project: Project | None = None) -> list[Round]:
    """A project with an open pilot of two images in each of the languages."""
    project, collection = project or make_project("lions"), make_collection(2)
    about: dict[str, Any] = {
        "captioners": [make_captioner(collection)],
        "beginning": LanguageBeginning(pilot_images=2),
        "now": timezone.now(),
    }
    begun = [begin_language(project, collection, tag, **about) for tag in tags]
    rounds = Round.objects.select_related("project", "language", "pool", "verifies").in_bulk([one.pk for one in begun])
    return [rounds[one.pk] for one in begun]


@kept
def pilots() -> list[Round]:
    return begin(["de", "fr", "sw"])


@pytest.fixture
def who(pilots) -> dict[str, Any]:
    return {"by": pilots[0].project.created_by, "now": timezone.now()}


@pytest.fixture
def manager(pilots) -> Client:
    return client_of(pilots[0].project.created_by)


def states() -> dict[str, str]:
    pilots = Round.objects.filter(kind=RoundKind.PILOT)
    return dict(pilots.values_list("language", "state"))


def ask(manager: Client, action: str, **chosen: Any):
    return manager.get(reverse("annotation:rounds-act", args=["lions"]), {"action": action} | chosen)


def confirm(manager: Client, page: Any, **fields: Any):
    """Send the form of a page that asks, with what it holds and `fields`."""
    form = next(
        one
        for one in re.findall(r"<form.*?</form>", page.content.decode(), re.DOTALL)
        if 'method="post"' in one and "rounds/act" in one
    )
    given: dict[str, Any] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        kind, name = (re.search(rf'{part}="([^"]*)"', tag) for part in ("type", "name"))
        value = re.search(r'value="([^"]*)"', tag)
        if kind and name and value and (kind[1] == "hidden" or "checked" in tag):
            given.setdefault(name[1], []).append(html.unescape(value[1]))
    given.pop("csrfmiddlewaretoken", None)
    return manager.post(reverse("annotation:rounds-act", args=["lions"]), given | fields, follow=True)


def text_of(response: Any) -> str:
    return html.unescape(" ".join(response.content.decode().split()))


def words_of(response: Any) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", text_of(response)).split())


class TestSteps:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_each_round_is_stepped_and_logged_by_itself(self, pilots, who):
        outcomes = bulk.take_step(rounds=pilots, action=RoundAction.CLOSE, **who)
        assert all(one.is_done for one in outcomes)
        assert states() == dict.fromkeys(["de", "fr", "sw"], RoundState.CLOSED)
        assert AuditEntry.objects.filter(action="round.closed").count() == 3

    def test_one_that_refuses_is_left_out_with_its_reason_and_undoes_no_other(self, pilots, who):
        campaign.close_round(round=pilots[1], **who)
        first, second, third = bulk.take_step(rounds=pilots, action=RoundAction.CLOSE, **who)
        assert (first.why_left_out, second.why_left_out, third.why_left_out) == ("", "This round is not open.", "")

    def test_a_second_click_changes_nothing(self, pilots, who):
        bulk.take_step(rounds=pilots, action=RoundAction.CLOSE, **who)
        entries = AuditEntry.objects.count()
        again = bulk.take_step(rounds=pilots, action=RoundAction.CLOSE, **who)
        assert not any(one.is_done for one in again)
        assert AuditEntry.objects.count() == entries

    def test_a_batch_taken_since_the_manager_looked_leaves_its_round_out(self, pilots, who):
        take(pilots[0], make_annotator(pilots[0], "mina"), now=timezone.now())
        first, *_others = bulk.take_step(rounds=pilots, action=RoundAction.CLOSE, **who)
        assert "1 batch is unfinished, of mina." in first.why_left_out
        (first,) = bulk.take_step(rounds=pilots[:1], action=RoundAction.CLOSE, assigned=UnfinishedBatches.RETURN, **who)
        assert first.is_done
        assert Batch.objects.get().state == BatchState.RETURNED

    def test_batches_of_closed_rounds_are_returned(self, pilots, who):
        take(pilots[0], make_annotator(pilots[0]), now=timezone.now())
        bulk.take_step(rounds=pilots[:1], action=RoundAction.CLOSE, assigned=UnfinishedBatches.LET_FINISH, **who)
        closed, still_open = bulk.return_batches(rounds=pilots[:2], **who)
        assert closed.is_done
        assert still_open.why_left_out == "This round is open. Close it first."


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("run", runs(4, short=1))
def test_two_managers_who_confirm_the_same_step_at_once_step_each_language_once(run):
    pilots = begin(["de", "fr", "sw"])
    by = pilots[0].project.created_by

    def close(backwards: bool) -> list[str]:
        rounds = list(Round.objects.filter(kind=RoundKind.PILOT).select_related("project", "language", "pool"))
        chosen = rounds[::-1] if backwards else rounds
        return [
            one.round.language_id
            for one in bulk.take_step(rounds=chosen, action=RoundAction.CLOSE, by=by, now=timezone.now())
            if one.is_done
        ]

    done = together(close, [False, True, False])
    assert sorted(tag for of_one in done for tag in of_one) == ["de", "fr", "sw"]
    assert AuditEntry.objects.filter(action="round.closed").count() == 3


class TestSettings:
    def test_only_what_is_given_changes(self, pilots, who):
        Round.objects.filter(pk=pilots[1].pk).update(needs_qualification=True)
        bulk.change_settings(rounds=pilots, changes={"batch_size": 7, "is_open": False}, **who)
        found = Round.objects.filter(kind=RoundKind.PILOT).values_list(
            "pool__batch_size", "pool__replication", "pool__is_open", "needs_qualification"
        )
        assert list(found.order_by("language_id")) == [(7, 1, False, False), (7, 1, False, True), (7, 1, False, False)]

    def test_what_has_them_already_or_cannot_be_paused_is_left_out(self, pilots, who):
        campaign.close_round(round=pilots[0], **who)
        first, second, _third = bulk.change_settings(rounds=pilots, changes={"is_open": False}, **who)
        assert first.why_left_out == "Only an open round can be paused or resumed."
        assert second.is_done
        (again,) = bulk.change_settings(rounds=pilots[1:2], changes={"is_open": False}, **who)
        assert again.why_left_out == "It has these settings already."


class TestMessages:
    def test_everybody_gets_one_whatever_they_speak_and_no_second_copy(self, pilots, who):
        mina, noor = make_annotator(pilots[0], "mina"), make_annotator(pilots[1], "noor")
        LanguageSkill.objects.create(user=mina, language_id="fr", level=LanguageLevel.NATIVE)
        sent = bulk.write_to_people(rounds=pilots, text=" Two weeks left. ", **who)
        assert [one.people for one in sent] == [1, 1, 0]
        assert "no annotators" in sent[2].why_left_out
        assert set(Feedback.objects.values_list("person", "text")) == {
            (mina.pk, "Two weeks left."),
            (noor.pk, "Two weeks left."),
        }
        again = bulk.write_to_people(rounds=pilots, text="Two weeks left.", **who)
        assert not any(one.is_done for one in again)
        assert Feedback.objects.count() == 2


class TestThePageThatAsks:
    def test_it_changes_nothing_and_says_what_happens_and_what_is_left_out(self, pilots, manager, who):
        campaign.close_round(round=pilots[1], **who)
        take(pilots[0], make_annotator(pilots[0]), now=timezone.now())
        before = states()
        said = words_of(ask(manager, "close", language=["de", "fr"]))
        assert states() == before
        assert "German Pilot 1 Open Nobody gets new batches. You can then have its captions rated." in said
        assert "1 batch is unfinished." in said
        assert "French , Pilot 1: This round is not open." in said
        assert "Swahili" not in said

    def test_one_confirmation_does_it_and_reports_what_was_left_out(self, pilots, manager, who):
        page = ask(manager, "close", language=["de", "fr", "sw"])
        campaign.close_round(round=pilots[2], **who)
        said = words_of(confirm(manager, page))
        assert states() == dict.fromkeys(["de", "fr", "sw"], RoundState.CLOSED)
        assert "2 rounds are closed." in said
        assert "Left out: Swahili. This round is not open." in said

    def test_the_languages_stay_chosen_for_the_next_step(self, pilots, manager):
        shown = reverse("annotation:project-show", args=["lions"])
        done = confirm(manager, ask(manager, "close", language=["de", "fr"], next=f"{shown}?sort=done"))
        query = parse_qs(urlsplit(done.redirect_chain[-1][0]).query)
        assert query == {"sort": ["done"], "language": ["de", "fr"]}
        assert re.findall(r'value="(\w+)"\s+form="choose"[^>]* checked', done.content.decode()) == ["fr", "de"]
        done = confirm(manager, ask(manager, "reopen", language=["de", "fr", "sw"], next=shown))
        assert done.redirect_chain[-1][0] == f"{shown}?choose=all"

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_next_step_is_about_the_next_round(self, pilots, manager):
        chosen = {"language": ["de", "fr", "sw"]}
        confirm(manager, ask(manager, "close", **chosen))
        assert "German Rating of pilot 1 Not open yet" in words_of(ask(manager, "open", **chosen))
        confirm(manager, ask(manager, "open", **chosen))
        assert Round.objects.filter(kind=RoundKind.VERIFICATION, state=RoundState.OPEN).count() == 3
        refused = words_of(ask(manager, "accept", **chosen))
        assert "possible in none of the rounds" in refused
        assert "Close the round first." in refused

    def test_closing_can_be_undone_from_the_message_where_the_rules_allow_it(self, pilots, manager):
        done = text_of(confirm(manager, ask(manager, "close", language=["de", "fr"])))
        undo = html.unescape(re.search(r'<a href="([^"]*)">Undo</a>', done)[1])
        assert "2 rounds are open again." in words_of(confirm(manager, manager.get(undo)))
        assert states() == dict.fromkeys(["de", "fr", "sw"], RoundState.OPEN)
        bulk.take_step(rounds=pilots, action=RoundAction.CLOSE, by=pilots[0].project.created_by, now=timezone.now())
        ratings = list(Round.objects.filter(verifies__in=pilots).select_related("project", "language", "pool"))
        for action in (RoundAction.OPEN, RoundAction.CLOSE):
            bulk.take_step(rounds=ratings, action=action, by=pilots[0].project.created_by, now=timezone.now())
        done = text_of(confirm(manager, ask(manager, "accept", language=["de", "fr"])))
        assert "2 rounds are accepted." in done
        assert ">Undo<" not in done

    def test_a_decision_has_its_evidence_beside_it(self, pilots, manager, who):
        Round.objects.filter(pk=pilots[0].pk).update(state=RoundState.CLOSED)
        rating = Round.objects.get(verifies=pilots[0])
        Round.objects.filter(pk=rating.pk).update(state=RoundState.CLOSED)
        share = {"count": 18, "share": 0.9, "low": 0.7, "high": 0.97}
        quality = {
            "verified": 20,
            "sampled": 20,
            "good": share,
            "bad": share | {"share": 0.05, "low": 0.01, "high": 0.24},
            "alpha": 0.61,
        }
        RoundFigures.objects.update_or_create(round=rating, defaults={"figures": {"quality": quality}})
        said = words_of(ask(manager, "accept", language="de"))
        assert "20 of 20 rated, 90% Good or better (70–97), 5% Bad (1–24), α 0.61" in said
        assert "You can then open the main round." in said

    def test_settings_are_shown_before_and_after(self, pilots, manager):
        page = words_of(ask(manager, "settings", language=["de", "fr"]))
        assert "Fill in only what you want to change." in page
        page = ask(manager, "settings", language=["de", "fr"], batch_size="9", lease_h="2.5")
        assert "Images per batch: 2 → 9. Hours to finish a batch: 1 → 2.50" in words_of(page)
        assert "The settings of 2 rounds are saved." in words_of(confirm(manager, page))
        assert ask(manager, "settings", language="de", batch_size="many").status_code == 422
        assert list(
            Round.objects.filter(pk__in=[pilots[0].pk, pilots[2].pk])
            .order_by("pk")
            .values_list("pool__batch_size", flat=True)
        ) == [9, 2]

    def test_a_message_says_how_many_get_it_and_an_empty_one_is_refused(self, pilots, manager):
        make_annotator(pilots[0], "mina")
        page = ask(manager, "write", language=["de", "fr"])
        assert "1 annotator gets it." in words_of(page)
        assert confirm(manager, page, text=" ").status_code == 422
        assert "Your message was sent to 1 person." in words_of(confirm(manager, page, text="Two weeks left."))
        assert "Two weeks left." in words_of(
            client_of(User.objects.get(username="mina")).get(reverse("annotation:feedback-list"))
        )

    def test_inviting_leads_to_the_invitation_with_the_languages_chosen(self, pilots, manager):
        response = ask(manager, "invite", language=["fr", "de"])
        assert response["Location"] == reverse("people:invitation-create", args=["lions"]) + "?language=fr&language=de"

    def test_rejecting_and_returning_ask_first_and_rejecting_wants_a_reason(self, pilots, manager, who):
        take(pilots[1], make_annotator(pilots[1]), now=timezone.now())
        bulk.take_step(rounds=pilots, action=RoundAction.CLOSE, assigned=UnfinishedBatches.LET_FINISH, **who)
        page = ask(manager, "reject", round=[pilots[0].pk, pilots[1].pk])
        assert "French , Pilot 1: 1 batch is unfinished." in words_of(page)
        assert confirm(manager, page, reason="").status_code == 422
        assert states()["de"] == RoundState.CLOSED
        confirm(manager, page, reason="Too short.")
        assert (states()["de"], states()["fr"]) == (RoundState.REJECTED, RoundState.CLOSED)
        page = ask(manager, "return", round=pilots[1].pk)
        assert "1 batch is returned" in words_of(page)
        confirm(manager, page)
        assert Batch.objects.get().state == BatchState.RETURNED

    def test_nothing_chosen_an_unknown_action_and_other_projects(self, pilots, manager):
        address, other = reverse("annotation:rounds-act", args=["lions"]), begin(["it"], make_project("zebras"))[0]
        nothing = manager.get(address, {"action": "close"}, follow=True)
        assert "Choose at least one language first." in words_of(nothing)
        unknown = manager.get(address, {"action": "burn", "language": "de"}, follow=True)
        assert "Choose what to do first." in words_of(unknown)
        sent = {"action": "close", "round": [other.pk, "x", "9" * 30]}
        assert "Choose at least one language first." in words_of(manager.post(address, sent, follow=True))
        assert states()["it"] == RoundState.OPEN

    def test_it_never_leads_elsewhere(self, pilots, manager):
        page = ask(manager, "close", language="de", next="https://example.org/")
        assert '"https://example.org' not in page.content.decode()


class TestTheOverview:
    def shown(self, manager: Client, **query: Any) -> str:
        return manager.get(reverse("annotation:project-show", args=["lions"]), query).content.decode()

    def languages(self, page: str) -> list[str]:
        body = re.search(r"<tbody>(.*?)</tbody>", page, re.DOTALL)[1]
        return re.findall(r'languages/(\w+)/">', body)

    def test_what_each_language_waits_for_leads_there(self, pilots, manager, who):
        campaign.close_round(round=pilots[0], **who)
        page = self.shown(manager)
        assert f'languages/de/#round-{pilots[0].pk}">Open the rating of pilot 1</a>' in page
        assert 'invitations/create/?language=fr">Nobody can write</a>' in page.replace(
            "invitations/new", "invitations/create"
        )

    def test_rows_are_found_by_name_and_by_who_is_waited_for(self, pilots, manager):
        make_annotator(pilots[0])
        assert self.languages(self.shown(manager, search="sWa")) == ["sw"]
        assert self.languages(self.shown(manager, search="français")) == ["fr"]
        assert self.languages(self.shown(manager, waits="people")) == ["de"]
        assert self.languages(self.shown(manager, waits="you")) == ["fr", "sw"]
        assert "No round matches this filter." in self.shown(manager, search="klingon")

    def test_columns_are_chosen_and_kept_in_the_browser(self, pilots, manager):
        address = reverse("annotation:project-show", args=["lions"])
        chosen = manager.get(address, {"columns": ["", "done", "late", "nonsense"], "sort": "-done"})
        assert chosen["Location"] == f"{address}?sort=-done"
        heads = re.search(r"<thead.*?</thead>", self.shown(manager), re.DOTALL)[0]
        assert [
            name for name in ("Language", "Done", "Late", "Required") if f">{name}<" in heads.replace(" <", "<")
        ] == [
            "Language",
            "Done",
            "Late",
        ]
        assert heads.count("<th ") == 4
        assert "is-wide" not in heads
        manager.get(address, {"columns": ["", "default"]})
        assert "is-wide" in self.shown(manager)
        manager.get(address, {"columns": ""})
        assert re.search(r"<thead.*?</thead>", self.shown(manager), re.DOTALL)[0].count("<th ") == 2

    def test_totals_are_of_the_rows_shown(self, pilots, manager):
        submit_captions(pilots[0], make_annotator(pilots[0]), now=timezone.now())
        foot = re.search(r"<tfoot>(.*?)</tfoot>", self.shown(manager), re.DOTALL)[1]
        cells = [
            " ".join(re.sub(r"<[^>]*>", " ", cell).split())
            for cell in re.findall(r"<t[hd].*?</t[hd]>", foot, re.DOTALL)
        ]
        assert cells[:6] == ["3 rounds", "", "", "6", "2", "33%"]

    def test_it_asks_as_often_for_six_languages_as_for_three(self, pilots, manager):
        def number(query: dict[str, Any]) -> int:
            return len(queries_of(lambda: self.shown(manager, **query)))

        few = [number({}), number({"rounds": "all"})]
        begin(["ar", "bn", "cs"], pilots[0].project)
        assert [number({}), number({"rounds": "all"})] == few
        assert len(self.languages(self.shown(manager))) == 6


class TestSamples:
    def test_five_captions_are_drawn_and_the_same_ones_again(self, pilots, manager):
        submit_captions(pilots[0], make_annotator(pilots[0]), "Ein Bild", now=timezone.now())
        address = reverse("annotation:samples-show", args=["lions", pilots[0].pk])
        page = manager.get(address).content.decode()
        assert page.count('class="check__text"') == 2
        part = manager.get(address, headers={"hx-request": "true"}).content.decode()
        assert "<html" not in part
        assert re.findall(r"Ein Bild \d", part) == re.findall(r"Ein Bild \d", page)

    def test_somebody_with_images_assigned_does_not_see_them(self, pilots, manager):
        submit_captions(pilots[0], make_annotator(pilots[0]), "Ein Bild", now=timezone.now())
        boss = pilots[0].project.created_by
        elsewhere = begin_language(
            make_project(),
            pilots[0].collection,
            "fr",
            captioners=list(pilots[0].captioners.all()),
            beginning=LanguageBeginning(why_no_pilot="A test."),
            now=timezone.now(),
        )
        LanguageSkill.objects.create(user=boss, language_id="fr", level=LanguageLevel.NATIVE)
        User.objects.filter(pk=boss.pk).update(reads_english=True)
        join_project(elsewhere.project, boss)
        take(elsewhere, User.objects.get(pk=boss.pk), now=timezone.now())
        response = manager.get(reverse("annotation:samples-show", args=["lions", pilots[0].pk]), follow=True)
        assert "Ein Bild" not in response.content.decode()
        assert "images in a batch that is assigned to you" in words_of(response)
