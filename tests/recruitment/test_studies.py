"""People of a panel arrive, work and return with the right code; what they return is free again."""

from __future__ import annotations

import csv
import html
import io
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import AnnotatorState, AnnotatorStatus, CaptionItem, Round, RoundKind
from annotation.services.batches import KIND, submit_batch
from core.allocation.models import Batch, BatchState
from core.people.models import Consent, LanguageLevel, Membership, Role, User
from core.people.selectors.qualification import NotQualifiedError
from core.people.services.accounts import delete_account
from office.practice.services.attempts import answer_item, start_attempt
from office.recruitment.models import Participant, ParticipantState, Study
from office.recruitment.selectors.work import pay_rows
from office.recruitment.services import participants
from office.recruitment.services.participants import AlreadyHereError, StudyClosedError, admit_participant
from office.recruitment.views import arriving
from sxs_eval.models import RaterState, RaterStatus
from tests.annotation.submitting import submit_captions as submit
from tests.annotation.submitting import take, write
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_comparison, make_project, make_round
from tests.practice.making import make_practice
from tests.recruitment.panel import CODES, Panel, make_study
from tests.sxs_eval.judged import answer

pytestmark = pytest.mark.django_db


def work(panel: Panel, round: Round, person: str, **about) -> User:
    user = panel.study.participants.get(panel_id=person).user
    submit(round, user, now=timezone.now(), **about)
    return user


def finish(panel: Panel, person: str, **sent: str) -> str:
    return panel.browser(person).post(reverse("recruitment:study-finish"), sent, follow=True).content.decode()


class TestArriving:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_native_speaker_has_an_account_and_work_without_choosing_a_name_or_password(self, panel, project, round):
        page = panel.send("5f1a").content.decode()
        assert "You came from Prolific." in page
        assert "Take" in page
        participant = Participant.objects.get()
        user = participant.user
        assert (participant.panel_id, participant.session_id) == ("5f1a", panel.submission("5f1a"))
        assert not user.has_usable_password()
        assert "5f1a" not in user.username
        assert Membership.objects.get(user=user).role == Role.ANNOTATOR
        assert Consent.objects.get(user=user).text.project == project

    def test_the_form_asks_for_languages_and_consent_and_nothing_else(self, panel):
        page = panel.browser("5f1a").get(panel.address("5f1a")).content.decode()
        assert "Your German" in page
        assert "I agree." in page
        assert 'type="password"' not in page
        assert 'name="username"' not in page

    def test_who_does_not_agree_is_asked_again_and_has_no_account(self, panel):
        before = User.objects.count()
        response = panel.send("5f1a", consent="")
        assert response.status_code == 422
        assert "You cannot take part unless you agree." in response.content.decode()
        assert User.objects.count() == before

    def test_whose_language_does_not_fit_returns_with_the_code_for_that_and_cannot_try_again(self, panel):
        before = User.objects.count()
        assert CODES["screened_out_url"] in panel.send("5f1a", **{"level-de": "advanced"}).content.decode()
        assert CODES["screened_out_url"] in panel.send("5f1a").content.decode()
        assert User.objects.count() == before
        assert Participant.objects.get().state == ParticipantState.SCREENED_OUT

    def test_annotators_read_english(self, panel):
        assert CODES["screened_out_url"] in panel.send("5f1a", reads_english="").content.decode()

    def test_who_comes_again_in_the_same_browser_is_the_same_person_also_in_another_study(self, user, panel, project):
        assert panel.browser("5f1a").get(panel.address("5f1a"))["Location"] == reverse("annotation:work-show")
        again = panel.signed_out("5f1a")
        again.get(panel.address("5f1a"))
        assert again.session["_auth_user_id"] == str(user.pk)
        Panel(make_study(project, name="More"), panel.browsers).send("5f1a")
        panel.signed_out("5f1a")
        Panel(make_study(project, name="Yet more"), panel.browsers).send("5f1a")
        assert [row.user for row in Participant.objects.all()] == [user] * 3

    def test_who_only_knows_the_name_of_somebody_is_not_signed_in_as_them_nor_sees_how_it_ended(
        self, panel, project, round
    ):
        more = Panel(make_study(project, name="More"))
        panel.send("5f1a")
        panel.send("6b2c", **{"level-de": "advanced"})
        work(panel, round, "5f1a")
        for state in ("working", "done"):
            for address in (panel.address("5f1a"), panel.address("6b2c"), more.address("5f1a")):
                other = Client()
                page = other.get(address)
                assert page.status_code == 403
                assert "You began this study in another browser." in page.content.decode()
                assert other.post(address, {"level-de": "beginner"}).status_code == 403
                assert "_auth_user_id" not in other.session
                assert not any(code in page.content.decode() for code in CODES.values())
            assert Participant.objects.get(panel_id="5f1a").state == state
            finish(panel, "5f1a")
        assert CODES["screened_out_url"] in panel.browser("6b2c").get(panel.address("6b2c")).content.decode()
        assert CODES["done_url"] in panel.signed_out("5f1a").get(panel.address("5f1a"), follow=True).content.decode()

    def test_who_arrives_at_once_under_the_same_name_is_asked_for_proof(self, panel, monkeypatch):
        def other_arrives_first(**about):
            monkeypatch.undo()
            panel.send("5f1a")
            return admit_participant(**about)

        monkeypatch.setattr(arriving, "admit_participant", other_arrives_first)
        late = Panel(panel.study)
        assert late.send("5f1a").status_code == 403
        assert "_auth_user_id" not in late.browser("5f1a").session
        assert Participant.objects.count() == 1

    def test_the_manager_has_an_address_for_who_lost_their_browser(self, user, manager, study, monkeypatch):
        page = manager.get(reverse("recruitment:study-show", args=["lions", study.pk])).content.decode()
        own = html.unescape(re.search(r'value="([^"]*own=[^"]*)"', page)[1])
        assert Client().get(own + "x").status_code == 403
        assert Client().get(own.replace("5f1a", "6b2c")).status_code == 200, "somebody new, who is asked for consent"
        again = Client()
        again.get(own)
        assert again.session["_auth_user_id"] == str(Participant.objects.get().user_id)
        monkeypatch.setattr(participants, "VALID_FOR", timedelta(seconds=-1))
        assert Client().get(own).status_code == 403

    def test_arrivals_from_one_address_are_limited(self, panel, settings):
        settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"arrive": "2/m/key"}
        assert [Client().get(panel.address(person)).status_code for person in "abc"] == [200, 200, 429]

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_another_project_makes_another_account(self, user):
        elsewhere = make_project("tigers")
        Panel(make_study(elsewhere)).send("5f1a")
        assert len({row.user for row in Participant.objects.all()}) == 2

    def test_an_address_that_does_not_say_who_it_is_is_explained(self, study):
        for query in ("", "?PROLIFIC_PID=", "?SESSION_ID=x", "?PROLIFIC_PID=a%00b", f"?PROLIFIC_PID={'a' * 201}"):
            response = Client().get(reverse("recruitment:study-enter", args=[study.token]) + query)
            assert response.status_code == 400
            assert "PROLIFIC_PID" in response.content.decode()

    @pytest.mark.parametrize(
        "value",
        ["{{%PROLIFIC_PID%}}", "{%PROLIFIC_PID%}", "${workerId}", "[ID]", "<id>", "%SURVEY_CODE%", "null", "Undefined",
         "ASSIGNMENT_ID_NOT_AVAILABLE", " ", "PROLIFIC_PID", "session_id", "SURVEY_CODE", b"\xff\xfe"],
    )  # fmt: skip
    def test_a_placeholder_that_the_panel_did_not_replace_is_nobody(self, panel, value):
        enter, filled_in = panel.address("5f1a").partition("?")[0], {"PROLIFIC_PID": "5f1a", "SESSION_ID": "s"}
        assert Client().get(enter, filled_in).status_code == 200
        for name in filled_in:
            response = Client().get(enter, filled_in | {name: value})
            assert response.status_code == 400
            assert f"the address lacks “{name}”" in response.content.decode()

    @pytest.mark.parametrize("token", ["unknown", "a%00b"])
    def test_an_unknown_study_is_not_found(self, token):
        response = Client().get(f"/study/{token}/?PROLIFIC_PID=5f1a")
        assert response.status_code == 404
        assert "There is no study at this address." in response.content.decode()

    def test_somebody_else_s_browser_is_not_signed_over(self, panel, manager):
        response = manager.get(panel.address("5f1a"))
        assert response.status_code == 409
        assert "signed in to another account" in response.content.decode()

    @pytest.mark.parametrize(("grown", "status"), [("password", 403), ("role", 409), ("staff", 409)])
    def test_an_account_that_became_more_is_not_entered_by_an_address(self, user, panel, project, grown, status):
        if grown == "password":
            user.set_password("look-then-write")
        elif grown == "role":
            Membership.objects.create(project=make_project("tigers"), user=user, role=Role.MANAGER)
        user.is_staff = grown == "staff"
        user.save()
        for study in (panel, Panel(make_study(project, name="More"), panel.browsers)):
            sent = panel.signed_out("5f1a").post(study.address("5f1a"), {"level-de": "beginner"})
            assert sent.status_code == status
        assert user.language_skills.get().level == LanguageLevel.NATIVE

    def test_a_full_study_and_a_closed_one_turn_people_away(self, panel, study):
        for person in ("a", "b", "c"):
            panel.send(person)
        assert panel.send("d").status_code == 410
        Study.objects.update(places=9, is_open=False)
        response = panel.send("d")
        assert response.status_code == 410
        assert "This study is full or closed." in response.content.decode()
        assert panel.browser("a").get(panel.address("a")).status_code == 302, "who has begun goes on"


class TestReturning:
    @pytest.mark.postgres
    def test_who_has_done_the_batches_returns_with_the_code(self, user, panel, round):
        work(panel, round, "5f1a")
        assert "Finish and return" in panel.browser("5f1a").get(reverse("annotation:work-show")).content.decode()
        assert CODES["done_url"] in finish(panel, "5f1a")
        assert CODES["done_url"] in finish(panel, "5f1a"), "it can be asked for again"
        assert Participant.objects.get().state == ParticipantState.DONE

    def test_who_has_not_is_told_what_is_missing_and_gets_no_code(self, user, panel, round):
        page = finish(panel, "5f1a")
        assert "You have submitted 0 of 1 batch." in page
        assert not any(code in page for code in CODES.values())

    def test_nobody_takes_more_than_the_study_is_about(self, user, panel, round):
        taking = reverse("annotation:batch-take", args=[round.pk])
        browser = panel.browser("5f1a")
        assert "/batches/" in browser.post(taking)["Location"]
        assert browser.post(taking)["Location"] == reverse("recruitment:study-finish")
        batch = Batch.objects.get(state=BatchState.OPEN)
        write(batch.caption_batch, user, "Ein Bild", now=timezone.now())
        assert browser.post(taking)["Location"] == reverse("recruitment:study-finish")

    def test_the_limit_holds_for_each_way_to_get_a_batch(self, user, panel, project, round):
        now = timezone.now()
        first = take(round, user, now=now)
        KIND.return_batch(batch_id=first.pk, person=user, now=now)
        second = take(round, user, now=now)
        with pytest.raises(NotQualifiedError, match="You have taken all batches"):
            KIND.resume_batch(batch_id=first.pk, person=user, now=now)
        write(second, user, "Ein Bild", now=now)
        KIND.return_batch(batch_id=second.pk, person=user, now=now)
        KIND.resume_batch(batch_id=second.pk, person=user, now=now)
        submit_batch(batch_id=second.pk, person=user, now=now)
        pilot = make_round(project=project, images=3, batch_size=3, kind=RoundKind.PILOT)
        for _ in range(2):
            with pytest.raises(NotQualifiedError, match="You have taken all batches"):
                take(pilot, user, now=now)
            finish(panel, "5f1a")
        assert Participant.objects.get().state == ParticipantState.DONE

    def test_others_take_as_much_as_they_like(self, panel, round):
        taken = client_of(make_annotator(round)).post(reverse("annotation:batch-take", args=[round.pk]))
        assert taken["Location"] != reverse("recruitment:study-finish")

    def test_who_leaves_gives_everything_back_and_gets_no_code(self, user, panel, round):
        take(round, user, now=timezone.now())
        page = finish(panel, "5f1a", leave="1")
        assert "You have left this study" in page
        assert not any(code in page for code in CODES.values())
        assert Batch.objects.get().state == BatchState.RETURNED

    def test_who_is_paused_returns_with_the_code_for_failed_checks(self, user, panel, round, project):
        work(panel, round, "5f1a")
        AnnotatorStatus.objects.create(
            project=project, person=user, language_id="de", state=AnnotatorState.PAUSED, by=project.created_by,
            at=timezone.now(),
        )  # fmt: skip
        assert CODES["failed_url"] in finish(panel, "5f1a")

    def test_who_failed_the_practice_returns_with_the_code_for_screened_out(self, user, panel, project):
        make_practice(project, tries=1)
        assert "You have not submitted all batches yet." in finish(panel, "5f1a")
        attempt = start_attempt(person=user, project=project, kind="rating", language="de", now=NOW)
        for position in (1, 2, 3):
            answer_item(attempt=attempt, position=position, answer="BAD", now=NOW)
        assert CODES["screened_out_url"] in finish(panel, "5f1a")
        assert Participant.objects.get().state == ParticipantState.SCREENED_OUT

    def test_raters_return_in_the_same_way(self, project):
        made = make_comparison(project=project, images=2, batch_size=2)
        panel = Panel(make_study(project, role="rater"))
        panel.send("5f1a")
        browser = panel.browser("5f1a")
        taken = browser.post(reverse("sxs_eval:batch-take", args=[made.pk]))
        user = Participant.objects.get().user

        for row in Batch.objects.get().judging_batch.judgements.order_by("position"):
            row.person = user
            answer(row, 1, now=timezone.now() + timedelta(seconds=5), active_ms=5000)
        assert "judging" in taken["Location"] or "/" in taken["Location"]
        assert Batch.objects.get().state == BatchState.OPEN, "the last answer can be undone"
        assert CODES["done_url"] in finish(panel, "5f1a")
        assert Batch.objects.get().state != BatchState.OPEN
        assert pay_rows(panel.study)[0].batches == 1
        RaterStatus.objects.create(comparison=made, person=user, state=RaterState.PAUSED)
        assert CODES["done_url"] in finish(panel, "5f1a"), "what was decided stays"

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_panels_own_names_are_in_the_address(self, project, round):
        panel = Panel(make_study(project, done_url="https://sona.example/credit?survey_code={person}"))
        panel.send("17")
        work(panel, round, "17")
        assert "https://sona.example/credit?survey_code=17" in finish(panel, "17")


class TestEvents:
    def test_what_was_returned_at_the_panel_is_free_again_and_a_second_event_changes_nothing(self, user, panel, round):
        take(round, user, now=timezone.now())
        assert panel.tell("5f1a").json() == {"freed": True}
        assert Batch.objects.get().state == BatchState.RETURNED
        assert Participant.objects.get().state == ParticipantState.FREED
        ended_at = Participant.objects.get().ended_at
        assert panel.tell("5f1a", "TIMED-OUT").json() == {"freed": False}
        assert Participant.objects.get().ended_at == ended_at

    def test_the_place_is_free_too(self, panel):
        for person in ("a", "b", "c"):
            panel.send(person)
        panel.tell("b", "TIMED-OUT")
        assert panel.send("d").status_code == 200
        assert panel.send("e").status_code == 410

    def test_who_is_done_stays_done(self, user, panel, round):
        work(panel, round, "5f1a")
        finish(panel, "5f1a")
        assert panel.tell("5f1a").json() == {"freed": False}
        assert Participant.objects.get().state == ParticipantState.DONE

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_other_events_are_taken_and_change_nothing(self, user, panel):
        for status in ("ACTIVE", "AWAITING REVIEW", "APPROVED"):
            assert panel.tell("5f1a", status).json() == {"freed": False}
        assert Participant.objects.get().state == ParticipantState.WORKING

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_false_or_old_signature_is_refused(self, user, panel):
        assert panel.tell("5f1a", secret="other").status_code == panel.tell("5f1a", ago_s=3600).status_code == 403
        assert Participant.objects.get().state == ParticipantState.WORKING

    def test_what_is_no_event_is_refused(self, panel):
        for body in (b"", b"[]", b"{}", b'{"status": "RETURNED"}', b"\xff", b"[" * 50_000):
            assert panel.tell("5f1a", body=body).status_code == 400, body

    def test_a_study_without_a_secret_takes_no_events(self, user, panel):
        Study.objects.update(webhook_secret="")
        assert panel.tell("5f1a", secret="").status_code == 403


class TestManagers:
    FORM = {
        "name": "German", "panel": "prolific", "role": "annotator", "languages": ["de"], "batches": "1", "places": "2",
        "reward": "3", "rate": "9", "currency": "GBP", "person_parameter": "", "session_parameter": "",
        "webhook_secret": "",
    } | CODES  # fmt: skip

    def test_a_study_is_made_and_its_address_has_what_the_panel_replaces(self, manager, project, round):
        page = manager.post(
            reverse("recruitment:study-create", args=["lions"]), self.FORM, follow=True
        ).content.decode()
        study = Study.objects.get()
        assert (study.person_parameter, study.session_parameter) == ("PROLIFIC_PID", "SESSION_ID")
        assert "/?PROLIFIC_PID={{%PROLIFIC_PID%}}&amp;SESSION_ID={{%SESSION_ID%}}" in page
        study.panel, study.person_parameter, study.session_parameter = "sona", "id", ""
        study.save()
        page = manager.get(reverse("recruitment:study-show", args=["lions", study.pk])).content.decode()
        assert f"/study/{study.token}/?id=%SURVEY_CODE%" in page

    def test_what_makes_no_sense_is_refused(self, manager, round):
        for changed, says in (
            ({"done_url": "http://panel.example/"}, "begins with https://"),
            ({"done_url": "javascript:alert(1)"}, "begins with https://"),
            ({"currency": "pounds"}, "three capital letters"),
            ({"languages": []}, "This field is required."),
            ({"person_parameter": "a b"}, "Enter a valid value."),
        ):
            response = manager.post(reverse("recruitment:study-create", args=["lions"]), self.FORM | changed)
            assert response.status_code == 422
            assert says in response.content.decode()
        assert not Study.objects.exists()

    def test_time_and_pay_are_on_the_page_and_in_the_panels_layout(self, manager, panel, round, study):
        for person, minutes in (("5f1a", 30), ("6b2c", 10)):
            panel.send(person)
            user = work(panel, round, person)
            CaptionItem.objects.filter(person=user).update(rating_ms=0, writing_ms=minutes * 20_000)
            finish(panel, person)
        panel.send("7d3e", **{"level-de": "advanced"})
        page = manager.get(reverse("recruitment:study-show", args=["lions", study.pk])).content.decode()
        assert "6.00 GBP" in page
        assert "18.00 GBP" in page
        assert "1.50 GBP" in page
        bonuses = manager.get(reverse("recruitment:bonus-export", args=["lions", study.pk])).getvalue().decode()
        assert bonuses == "5f1a,1.50\r\n"
        times = manager.get(reverse("recruitment:time-export", args=["lions", study.pk])).getvalue().decode()
        rows = list(csv.DictReader(io.StringIO(times)))
        assert [
            (row["person"], row["state"], row["language"], row["items"], row["active_s"], row["median_s"])
            for row in rows
        ] == [
            ("5f1a", "done", "de", "3", "1800.0", "600.0"),
            ("6b2c", "done", "de", "3", "600.0", "200.0"),
            ("7d3e", "screened", "", "0", "0.0", ""),
        ]

    def test_a_name_that_a_spreadsheet_would_compute_is_text(self, manager, panel, study):
        assert panel.send("=1-1").status_code == 400
        assert panel.send("a,b").status_code == 400
        panel.send("5f1a")
        Participant.objects.update(panel_id="=1-1")
        times = manager.get(reverse("recruitment:time-export", args=["lions", study.pk])).getvalue().decode()
        assert '\r\n"\'=1-1",' in times

    def test_a_study_is_closed_and_changed(self, manager, study):
        kept = {name: self.FORM[name] for name in ("done_url", "reward", "currency")}
        edit = reverse("recruitment:study-edit", args=["lions", study.pk])
        assert manager.get(edit).status_code == 200
        manager.post(edit, kept | {"places": "9", "rate": "12"})
        study.refresh_from_db()
        assert (study.places, study.rate, study.is_open, study.failed_url) == (9, 12, False, "")


def test_deleting_an_account_erases_what_the_panel_calls_the_person(user):
    delete_account(user=user, now=timezone.now())
    participant = Participant.objects.get()
    assert "5f1a" not in participant.panel_id + participant.session_id
    assert participant.state == ParticipantState.LEFT


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_crowd_takes_exactly_the_places_there_are():
    study = make_study(make_project("lions"), places=3)

    def arrive(number: int) -> bool:
        try:
            admit_participant(
                study=study, panel_id=f"p{number % 12}", session_id=f"s{number}", levels={"de": LanguageLevel.NATIVE},
                reads_english=True,
                consent_version=1, interface_language="", now=timezone.now(),
            )  # fmt: skip
        except (StudyClosedError, AlreadyHereError):
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(8) as crowd:
        list(crowd.map(arrive, range(24)))
    assert study.participants.count() == 3
    assert User.objects.filter(username__startswith="panel-").count() == 3
