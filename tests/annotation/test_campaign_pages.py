"""The manager's pages of a campaign: a language's steps, decisions about people."""

from __future__ import annotations

import re
from random import Random

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import tasks
from annotation.models import AnnotatorStatus, Caption, Exclusion, Round, RoundFigures, RoundState
from annotation.selectors.overview import in_campaign
from annotation.services import batches
from annotation.services.campaign import LanguageBeginning, name_in_log
from core.people.models import LanguageLevel, LanguageSkill, Membership, Project, Role, User
from core.people.selectors.qualification import NotQualifiedError
from tests.annotation.submitting import begin_language, submit_captions, take
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_collection, make_project, make_user
from tests.kept import kept
from tests.queries import queries_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_is_sent(monkeypatch):
    monkeypatch.setattr(tasks.fill_round, "delay", lambda round_id: None)


@kept
def pilot() -> Round:
    return begin_language(make_project(), make_collection(6), beginning=LanguageBeginning(pilot_images=4))


@pytest.fixture
def manager(pilot: Round) -> Client:
    return client_of(pilot.project.created_by)


def language_page(project: Project) -> str:
    return reverse("annotation:language-show", args=[project.slug, "de"])


def step(manager: Client, round: Round, action: str, **data: str):
    address = reverse("annotation:round-step", args=[round.project.slug, round.pk, action])
    return manager.post(address, data, follow=True)


def text_of(response) -> str:
    return " ".join(response.content.decode().split())


def decide(manager: Client, round: Round, person: User, decision: str, **data: str):
    address = reverse("annotation:annotator-status-decide", args=[round.project.slug, "de", person.pk])
    return manager.post(address, {"decision": decision} | data, follow=True)


class TestTheProject:
    def test_images_of_a_main_round_that_was_not_opened_are_not_said_to_lack_captions(self, pilot, manager):
        page = reverse("annotation:project-show", args=[pilot.project.slug])
        assert "no English caption and" not in text_of(manager.get(page))

    def test_a_language_in_its_pilot_counts_beside_one_in_its_main_round(self, pilot, manager):
        begin_language(
            pilot.project, pilot.collection, "bn", captioners=list(pilot.captioners.all()), replication=2,
            beginning=LanguageBeginning(why_no_pilot="The same people wrote last year."),
        )  # fmt: skip
        wanted = "0 of 16 captions"
        assert wanted in text_of(manager.get(reverse("annotation:project-show", args=[pilot.project.slug])))
        assert wanted in text_of(manager.get(reverse("annotation:project-list")))


class TestOneLanguage:
    def test_its_steps_stand_in_order_with_what_each_waits_for(self, pilot, manager):
        text = text_of(manager.get(language_page(pilot.project)))
        titles = ("Pilot 1", "Rating of pilot 1", "Main", "Verification")
        places = [text.index(f"<h2>{title}</h2>") for title in titles]
        assert places == sorted(places)
        assert "Pilot 1 is not accepted yet." in text
        # Only what was not opened is skipped.
        assert "skip it" not in text
        assert "0 of 4 captions" in text

    @pytest.mark.postgres
    def test_every_step_is_taken_through_the_page(self, pilot, manager):
        step(manager, pilot, "close")
        rating, main = (Round.objects.get(**which) for which in ({"verifies": pilot}, {"kind": "main"}))
        step(manager, rating, "open")
        step(manager, rating, "close")
        assert "Pilot 1: Accepted." in text_of(step(manager, pilot, "accept", reason="Good."))
        assert "Main: Open." in text_of(step(manager, main, "open", needs_qualification="on"))
        main.refresh_from_db()
        assert (main.state, main.needs_qualification, main.awaits_tasks) == (RoundState.OPEN, True, True)

    def test_the_log_calls_rounds_as_pages_do(self, pilot, manager):
        step(manager, pilot, "close")
        step(manager, Round.objects.get(verifies=pilot), "open")
        log = text_of(manager.get(reverse("people:log-show", args=[pilot.project.slug])))
        assert "A round was opened: rating of pilot 1, de." in log
        rounds = Round.objects.select_related("verifies").filter(project=pilot.project)
        names = {name_in_log(round) for round in rounds}
        assert names == {"pilot 1, de", "rating of pilot 1, de", "main 1, de", "verification, de"}

    def test_rounds_of_one_person_stand_in_the_order_of_the_campaign(self, pilot, manager):
        main, rating = Round.objects.get(kind="main"), Round.objects.get(verifies=pilot)
        # The main round is laid out with the language, long before a second pilot is planned.
        assert sorted([main, rating, pilot], key=in_campaign) == [pilot, rating, main]

    def test_a_step_that_may_not_be_taken_keeps_what_was_typed_and_a_rejection_needs_a_reason(self, pilot, manager):
        step(manager, pilot, "close")
        refused = step(manager, pilot, "accept", reason="They did <well>.")
        assert refused.status_code == 409
        assert "Its captions have not been rated yet." in text_of(refused)
        assert "They did &lt;well&gt;." in text_of(refused)
        assert step(manager, pilot, "reject").status_code == 409
        assert "Rejected" in text_of(step(manager, pilot, "reject", reason="Too short."))
        pilot.refresh_from_db()
        assert pilot.reason == "Too short."

    def test_work_assigned_is_named_and_the_page_asks_what_becomes_of_it(self, pilot, manager):
        take(pilot, make_annotator(pilot, "mina"), now=timezone.now())
        text = text_of(step(manager, pilot, "close"))
        assert "1 batch is unfinished, of mina." in text
        assert 'name="assigned" value="return"' in text
        step(manager, pilot, "close", assigned="let-finish")
        address = reverse("annotation:round-return-batches", args=[pilot.project.slug, pilot.pk])
        assert "1 batch was returned." in text_of(manager.post(address, follow=True))

    def test_another_pilot_is_planned_after_one_that_was_not_good_enough(self, pilot, manager):
        add = reverse("annotation:pilot-plan", args=[pilot.project.slug, "de"])
        assert "Pilot 1 is not decided yet" in text_of(manager.post(add, {"sample_size": 2}, follow=True))
        step(manager, pilot, "close")
        step(manager, pilot, "reject", reason="Too short.")
        assert manager.post(add, {"sample_size": "none"}).status_code == 422
        assert "Pilot 2 is planned" in text_of(manager.post(add, {"sample_size": 2}, follow=True))
        assert Round.objects.filter(kind="pilot", number=2, sample_size=2, state="planned").exists()

    def test_a_pilot_has_no_more_images_than_there_are_to_draw_from(self, pilot, manager):
        add = reverse("annotation:pilot-plan", args=[pilot.project.slug, "de"])
        step(manager, pilot, "close")
        asked = text_of(step(manager, pilot, "reject", reason="Too short."))
        assert 'name="sample_size" value="4"' in asked
        refused = manager.post(add, {"sample_size": 7})
        assert refused.status_code == 422
        assert "Only 6 images of the collection have an English caption. Enter at most that many." in text_of(refused)
        assert "Pilot 2 is planned" in text_of(manager.post(add, {"sample_size": 6}, follow=True))

    def test_planning_a_pilot_stands_first_where_nothing_else_can_be_done(self, pilot, manager):
        step(manager, pilot, "close")
        text = text_of(step(manager, pilot, "reject", reason="Too short."))
        assert text.index("Plan a pilot") < text.index("<h2>Pilot 1</h2>")
        rating = Round.objects.get(verifies=pilot)
        Round.objects.filter(pk__in=[pilot.pk, rating.pk]).update(state=RoundState.ACCEPTED)
        text = text_of(manager.get(language_page(pilot.project)))
        assert text.index("Plan a pilot") > text.index("<h2>Verification</h2>")

    def test_how_many_are_drawn_is_a_limit_until_they_are_and_then_their_number(self, pilot, manager):
        Round.objects.filter(pk=pilot.pk).update(sample_size=10_000)
        text = text_of(manager.get(language_page(pilot.project)))
        assert "4 images drawn" in text
        assert "At most 600 captions, one for each image drawn" in text

    def test_where_all_is_decided_it_leads_to_releases(self, pilot, manager):
        releases = f'href="{reverse("annotation:release-list", args=[pilot.project.slug])}"'
        assert releases not in text_of(manager.get(language_page(pilot.project))).partition("<main")[2]
        Round.objects.all().update(state=RoundState.ACCEPTED, decided_at=NOW)
        assert releases in text_of(manager.get(language_page(pilot.project))).partition("<main")[2]

    def test_an_accepted_main_round_says_what_is_missing_and_what_to_do(self, pilot, manager):
        main = Round.objects.get(kind="main")
        Round.objects.all().update(state=RoundState.ACCEPTED, decided_at=NOW)
        assert "Missing captions" not in text_of(manager.get(language_page(pilot.project)))
        RoundFigures.objects.update_or_create(round=main, defaults={"wanted": 6, "tasks": 6})
        text = text_of(manager.get(language_page(pilot.project)))
        assert "Missing captions: 6. Open this round again to have them written." in text

    def test_people_who_only_rate_are_listed_and_can_be_paused(self, pilot, manager):
        rater = make_user("rita")
        LanguageSkill.objects.create(user=rater, language_id="de", level=LanguageLevel.NATIVE)
        Membership.objects.create(project=pilot.project, user=rater, role=Role.RATER)
        assert ">rita<" in text_of(manager.get(language_page(pilot.project)))
        decide(manager, pilot, rater, "pause", reason="On leave.")
        assert AnnotatorStatus.objects.filter(person=rater, state="paused").exists()

    def test_inviting_for_the_language_has_it_ticked(self, pilot, manager):
        text = text_of(manager.get(language_page(pilot.project)))
        address = reverse("people:invitation-create", args=[pilot.project.slug]) + "?language=de"
        assert f'href="{address}"' in text
        ticked = re.findall(r'<input[^>]*name="languages"[^>]*checked[^>]*>', text_of(manager.get(address)))
        assert [re.findall(r'value="(\w+)"', one) for one in ticked] == [["de"]]

    def test_or_none_with_the_reason_why(self, pilot, manager):
        step(manager, pilot, "close")
        step(manager, pilot, "reject", reason="Too short.")
        skip = reverse("annotation:pilot-skip", args=[pilot.project.slug, "de"])
        assert manager.post(skip, {"reason": ""}).status_code == 422
        manager.post(skip, {"reason": "We talked."})
        assert Round.objects.get(kind="pilot", number=2).reason == "We talked."

    def test_a_skipped_verification_gives_way_to_another(self, pilot, manager):
        main = Round.objects.get(kind="main")
        step(manager, Round.objects.get(verifies=main), "skip", reason="Another sample.")
        plan = reverse("annotation:verification-plan", args=[pilot.project.slug, main.pk])
        manager.post(plan, {"sample_size": "5"})
        assert Round.objects.filter(verifies=main, state="planned", sample_size=5).count() == 1

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_how_far_it_is_comes_by_itself_and_is_not_counted_over_captions_items_or_tasks(self, pilot, manager):
        submit_captions(pilot, make_annotator(pilot))
        address = reverse("annotation:language-progress", args=[pilot.project.slug, "de"])
        assert address in text_of(manager.get(language_page(pilot.project)))
        assert "2 of 4 captions" in text_of(manager.get(address))
        queries = queries_of(lambda: manager.get(language_page(pilot.project)))
        tables = ("annotation_caption", "annotation_captionitem", "allocation_task")
        assert not [sql for sql in queries if any(f'FROM "{table}"' in sql for table in tables)]
        assert len(queries) < 40

    def test_a_step_and_a_language_that_do_not_exist_are_not_found(self, pilot, manager):
        assert step(manager, pilot, "burn").status_code == 404
        assert manager.get(reverse("annotation:language-show", args=[pilot.project.slug, "sw"])).status_code == 404


class TestPeople:
    def test_who_is_paused_has_their_batch_returned_and_is_told_on_their_page(self, pilot, manager):
        mina = make_annotator(pilot, "mina")
        take(pilot, mina, now=timezone.now())
        assert decide(manager, pilot, mina, "pause").status_code == 422
        text = text_of(decide(manager, pilot, mina, "pause", reason="Too fast."))
        assert "mina: paused; 1 unfinished batch was returned." in text
        work = text_of(client_of(mina).get(reverse("annotation:work-show")))
        assert "A manager has paused your work in German." in work
        assert "Too fast." not in work
        decide(manager, pilot, mina, "lift")
        assert not AnnotatorStatus.objects.exists()

    def test_what_is_excluded_counts_again_as_far_as_nobody_else_wrote_it(self, pilot, manager):
        mina, noor = make_annotator(pilot, "mina"), make_annotator(pilot)
        submit_captions(pilot, mina)
        submit_captions(pilot, mina)
        text = text_of(decide(manager, pilot, mina, "exclude", reason="Machine-made."))
        assert "4 captions no longer count" in text
        assert "Ask them about it" in text_of(client_of(mina).get(reverse("annotation:work-show")))
        submit_captions(pilot, noor)
        text = text_of(decide(manager, pilot, mina, "undo"))
        assert "2 captions count again. 2 stay excluded because others have written them since." in text
        assert Caption.objects.counted().filter(round=pilot).count() == 4
        assert "Machine-made." in text_of(
            manager.get(reverse("annotation:annotator-status-show", args=[pilot.project.slug, "de", mina.pk]))
        )

    def test_a_round_for_qualified_people_waits_for_the_manager(self, pilot, manager):
        mina = make_annotator(pilot, "mina")
        Round.objects.filter(pk=pilot.pk).update(needs_qualification=True)
        round = Round.objects.select_related("pool", "project", "language").get(pk=pilot.pk)
        with pytest.raises(NotQualifiedError, match="qualified in German"):
            batches.take_batch(round=round, person=mina, now=NOW, rng=Random(0))
        decide(manager, pilot, mina, "qualify")
        assert batches.take_batch(round=round, person=mina, now=NOW, rng=Random(0))

    def test_nothing_is_decided_about_who_has_nothing_to_do_with_the_language(self, pilot, manager):
        stranger = make_user()
        assert decide(manager, pilot, stranger, "pause", reason="Why not.").status_code == 404

    def test_of_pages_in_two_tabs_the_second_undoes_nothing_more(self, pilot, manager):
        mina = make_annotator(pilot, "mina")
        submit_captions(pilot, mina)
        decide(manager, pilot, mina, "exclude", reason="Machine-made.")
        decide(manager, pilot, mina, "undo")
        assert "nothing was excluded" in text_of(decide(manager, pilot, mina, "undo"))
        assert Exclusion.objects.get().undone_at
