"""Practice: nobody gets work before they pass, tries run out, and managers see and allow."""

from __future__ import annotations

from importlib import import_module
from random import Random
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.urls import reverse

from annotation.permissions import missing_requirements
from annotation.services.batches import take_batch
from core.conversation.models import ManagerThread
from core.people.models import LanguageLevel, Project, User
from core.people.selectors.qualification import NotQualifiedError
from core.people.services.accounts import delete_account
from office.practice.models import PracticeAnswer, PracticeAttempt, PracticeKind, PracticeSet
from office.practice.rules.grading import is_better_left
from office.practice.selectors.managing import data_export
from office.practice.services.attempts import (
    NotNextError,
    NoTryLeftError,
    answer_item,
    start_attempt,
    write_to_managers,
)
from office.practice.services.sets import ImageInWorkError, StalePracticeError
from sxs_eval.permissions import missing_requirements as missing_for_comparison
from tests.clients import client_of
from tests.concurrency import together
from tests.factories import NOW, make_annotator, make_comparison, make_image, make_rater, make_round
from tests.kept import kept
from tests.practice.making import RIGHT, WRONG, make_practice, new_item

pytestmark = pytest.mark.django_db


@kept
def round():
    return make_round()


@pytest.fixture
def anna(round) -> User:
    return make_annotator(round, "anna")


def attempt_of(
    person: User, project: Project, kind: PracticeKind = PracticeKind.RATING, language: str = "de"
) -> PracticeAttempt:
    return start_attempt(person=person, project=project, kind=kind, language=language, now=NOW)


def answer_all(attempt: PracticeAttempt, answers: list[str]) -> PracticeAttempt:
    for position, answer in enumerate(answers, start=1):
        answer_item(attempt=attempt, position=position, answer=answer, now=NOW)
    attempt.refresh_from_db()
    return attempt


def passes(person: User, project: Project, kind: PracticeKind = PracticeKind.RATING) -> PracticeAttempt:
    return answer_all(attempt_of(person, project, kind), [RIGHT[kind]] * 3)


def fails(person: User, project: Project, kind: PracticeKind = PracticeKind.RATING) -> PracticeAttempt:
    return answer_all(attempt_of(person, project, kind), [WRONG[kind]] * 3)


def codes(person: User, round: Any) -> list[str]:
    return [one.code for one in missing_requirements(person, round)]


class TestTheGate:
    def test_without_practice_nothing_is_asked(self, round, anna):
        assert codes(anna, round) == []

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_nobody_gets_a_batch_before_they_pass_every_kind(self, round, anna):
        make_practice(round.project, PracticeKind.RATING)
        make_practice(round.project, PracticeKind.WRITING)
        assert codes(anna, round) == ["practice"]
        with pytest.raises(NotQualifiedError):
            take_batch(round=round, person=anna, now=NOW, rng=Random(1))
        passes(anna, round.project, PracticeKind.RATING)
        assert codes(anna, round) == ["practice"]
        attempt = attempt_of(anna, round.project, PracticeKind.WRITING)
        answer_all(attempt, ["Ein brauner Hund im Schnee"] * 3)
        assert codes(anna, round) == []
        assert take_batch(round=round, person=anna, now=NOW, rng=Random(1)) is not None

    def test_one_that_is_not_required_stops_nobody(self, round, anna):
        make_practice(round.project, is_required=False)
        assert codes(anna, round) == []

    def test_one_without_examples_in_the_language_or_in_english_stops_nobody(self, round, anna):
        make_practice(round.project, language="hi")
        assert codes(anna, round) == []

    def test_examples_of_the_language_go_before_english_ones(self, round, anna):
        items = [new_item(PracticeKind.RATING, 1), new_item(PracticeKind.RATING, 2, language="de")]
        make_practice(round.project, items=items)
        assert attempt_of(anna, round.project).language_id == "de"

    def test_raters_practise_comparing(self):
        comparison = make_comparison()
        rater = make_rater(comparison, "rae")
        make_practice(comparison.project, PracticeKind.WRITING)
        assert missing_for_comparison(rater, comparison) == []
        make_practice(comparison.project, PracticeKind.COMPARING)
        (missing,) = missing_for_comparison(rater, comparison)
        assert (missing.code, missing.is_final) == ("practice", False)
        attempt = attempt_of(rater, comparison.project, PracticeKind.COMPARING)
        answer_all(attempt, ["1" if is_better_left(attempt.pk, position) else "-3" for position in (1, 2, 3)])
        assert attempt.passed
        assert missing_for_comparison(rater, comparison) == []

    def test_a_new_version_asks_again_only_if_it_says_so(self, round, anna):
        make_practice(round.project)
        passes(anna, round.project)
        make_practice(round.project)
        assert codes(anna, round) == []
        make_practice(round.project, asks_again=True)
        assert codes(anna, round) == ["practice"]
        make_practice(round.project)
        assert codes(anna, round) == ["practice"], "the version that asked is passed by"
        passes(anna, round.project)
        assert codes(anna, round) == []


class TestTrying:
    def test_two_tries_and_no_more_until_a_manager_allows_one(self, round, anna):
        make_practice(round.project)
        first, second = fails(anna, round.project), fails(anna, round.project)
        assert (first.passed, second.passed, first.right) == (False, False, 0)
        with pytest.raises(NoTryLeftError):
            attempt_of(anna, round.project)
        (missing,) = missing_requirements(anna, round)
        assert "no tries left" in missing.message
        assert missing.is_final
        manager = client_of(round.project.created_by)
        allow = reverse("practice:attempt-forgive", args=[round.project.slug, second.pk])
        for _twice in range(2):
            assert manager.post(allow).status_code == 302
        assert round.project.audit_entries.filter(action="practice.allowed-again").count() == 1
        assert passes(anna, round.project).passed

    def test_enough_right_answers_pass(self, round, anna):
        make_practice(round.project, pass_percent=60)
        attempt = answer_all(attempt_of(anna, round.project), ["GOOD", "EXCELLENT", "BAD"])
        assert (attempt.passed, attempt.right) == (True, 2)

    def test_examples_are_answered_in_order_and_once(self, round, anna):
        make_practice(round.project)
        attempt = attempt_of(anna, round.project)
        with pytest.raises(NotNextError):
            answer_item(attempt=attempt, position=2, answer="GOOD", now=NOW)
        answer_item(attempt=attempt, position=1, answer="BAD", now=NOW)
        with pytest.raises(NotNextError):
            answer_item(attempt=attempt, position=1, answer="GOOD", now=NOW)
        assert attempt_of(anna, round.project) == attempt, "the open try is continued"

    @pytest.mark.parametrize(
        ("text", "is_right"),
        [("Ein Hund tollt im Schnee herum", True), ("Hund", False), ("एक कुत्ता बर्फ में दौड़ता है", False)],
    )
    def test_a_caption_is_right_if_screen_2_would_not_warn(self, round, anna, text, is_right):
        make_practice(round.project, PracticeKind.WRITING)
        attempt = attempt_of(anna, round.project, PracticeKind.WRITING)
        assert answer_item(attempt=attempt, position=1, answer=text, now=NOW).is_right is is_right

    def test_what_a_caption_must_mention_holds_in_the_language_of_the_example(self, round, anna):
        item = new_item(PracticeKind.WRITING, language="de", mentions="Hund\nSchnee | schneit")
        make_practice(round.project, PracticeKind.WRITING, items=[item])
        attempt = attempt_of(anna, round.project, PracticeKind.WRITING)
        assert not answer_item(attempt=attempt, position=1, answer="Ein Hund läuft umher", now=NOW).is_right
        page = client_of(anna).get(reverse("practice:attempt-show", args=[attempt.pk]) + "?after=1")
        assert "It does not mention: Schnee." in page.content.decode()

    def test_practice_is_in_a_persons_own_data(self, round, anna):
        make_practice(round.project)
        passes(anna, round.project)
        (part,) = data_export(anna)
        assert [row["answer"] for row in part.rows] == ["GOOD"] * 3


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_tabs_answer_an_example_once_and_begin_one_try(round, anna):
    make_practice(round.project)
    begun = together(lambda _tab: attempt_of(anna, round.project).pk, range(4))
    assert len(set(begun)) == 1
    attempt = PracticeAttempt.objects.get()

    def answer(choice: str) -> bool:
        try:
            answer_item(attempt=attempt, position=1, answer=choice, now=NOW)
        except NotNextError:
            return False
        return True

    assert sum(together(answer, ["GOOD", "BAD", "GOOD", "BAD"])) == 1
    assert PracticeAnswer.objects.count() == 1


class TestPages:
    @pytest.mark.postgres
    def test_somebody_practises_and_gets_work(self, round, anna):
        practice = make_practice(round.project)
        client = client_of(anna)
        work = client.get(reverse("annotation:work-show")).content.decode()
        show = reverse("practice:practice-show", args=[round.project.slug])
        assert show in work
        assert "Take a batch" not in work
        start = reverse("practice:practice-start", args=[round.project.slug])
        address = client.post(start, {"kind": "rating", "language": "de"})["Location"]
        for position, answer in enumerate(("GOOD", "BAD", "GOOD"), start=1):
            page = client.get(address).content.decode()
            assert f"Example {position} of 3" in page
            assert f"Reason {position}." not in page, "the reason comes after the answer"
            told = client.post(address, {"position": position, "answer": answer}, follow=True).content.decode()
            assert f"Reason {position}." in told
            assert ("That is right." in told) == (answer == "GOOD")
        assert "You did not pass this time." in client.get(address).content.decode()
        assert "Tries left: 1" in client.get(show).content.decode()
        address = client.post(start, {"kind": "rating", "language": "de"})["Location"]
        for position in (1, 2, 3):
            client.post(address, {"position": position, "answer": "GOOD"})
        assert "You passed the practice." in client.get(address).content.decode()
        assert "Take a batch" in client.get(reverse("annotation:work-show")).content.decode()
        listed = client_of(round.project.created_by).get(reverse("practice:practice-list", args=[round.project.slug]))
        assert "1 passed, 0 did not" in listed.content.decode()
        assert practice.attempts.count() == 2

    @pytest.mark.parametrize(
        ("sent", "status"),
        [({"position": "1", "answer": "SPLENDID"}, 422), ({"position": "9", "answer": "GOOD"}, 302),
         ({"position": "x", "answer": "GOOD"}, 302), ({}, 302)],
    )  # fmt: skip
    def test_odd_answers_change_nothing(self, round, anna, sent, status):
        make_practice(round.project)
        attempt = attempt_of(anna, round.project)
        answered = client_of(anna).post(reverse("practice:attempt-show", args=[attempt.pk]), sent)
        assert answered.status_code == status
        assert not PracticeAnswer.objects.exists()

    def test_what_was_typed_stays_where_a_caption_is_refused(self, round, anna):
        make_practice(round.project, PracticeKind.WRITING)
        attempt = attempt_of(anna, round.project, PracticeKind.WRITING)
        address = reverse("practice:attempt-show", args=[attempt.pk])
        answered = client_of(anna).post(address, {"position": "1", "answer": "x" * 1001})
        assert answered.status_code == 422
        assert "x" * 1001 in answered.content.decode()

    def test_what_is_asked_stands_at_the_start(self, round, anna):
        make_practice(round.project, pass_percent=60, tries=3)
        show = reverse("practice:practice-show", args=[round.project.slug])
        page = client_of(anna).get(show).content.decode()
        assert "Right answers needed to pass: 2 of 3" in page
        assert "Tries left: 3" in page
        attempt = reverse("practice:attempt-show", args=[attempt_of(anna, round.project).pk])
        assert "Right answers needed to pass: 2 of 3" in client_of(anna).get(attempt).content.decode()

    def test_who_failed_writes_to_the_managers_who_see_it_on_the_overview_until_they_allow_a_try(self, round, anna):
        make_practice(round.project, tries=2)
        client, manager = client_of(anna), client_of(round.project.created_by)
        overview = reverse("annotation:project-show", args=[round.project.slug])
        send = reverse("practice:message-send", args=[fails(anna, round.project).pk])
        client.post(send, {"text": "Bitte"})
        assert not PracticeAttempt.objects.exclude(message="").exists(), "there are tries left"
        last = fails(anna, round.project)
        send = reverse("practice:message-send", args=[last.pk])
        assert send in client.get(reverse("practice:practice-show", args=[round.project.slug])).content.decode()
        for odd in ("", " ", "x" * 1001, "a\0b"):
            assert "at most 1,000" in client.post(send, {"text": odd}, follow=True).content.decode()
        assert "wrote to you" not in manager.get(overview).content.decode()
        sent = client.post(send, {"text": "<b>Mir fehlt\nein Beispiel"}, follow=True).content.decode()
        assert "&lt;b&gt;Mir fehlt<br>ein Beispiel" in sent
        shown = manager.get(overview).content.decode()
        assert "Needs you</a></h2>" in shown
        assert "anna did not pass the practice and wrote to you" in shown
        assert "Mir fehlt" not in shown, "it would be in e-mails, too"
        assert "no tries left at the practice" not in shown
        assert client_of(make_annotator(round, "bea")).post(send, {"text": "Ich"}).status_code == 404
        review = reverse("practice:attempt-review", args=[round.project.slug, last.pk])
        assert "Mir fehlt" in manager.get(review).content.decode()
        client.post(send, {"text": "<b>Mir fehlt\nein Beispiel"})
        thread = ManagerThread.objects.get(person=anna)
        assert thread.messages.count() == 1, "who sends it twice asks once"
        answer = f"/projects/{round.project.slug}/inbox/threads/{thread.pk}/"
        assert "Mir fehlt" in manager.get(answer).content.decode()
        manager.post(answer, {"text": "Noch ein Beispiel: ein Boot."})
        assert "ein Boot" in client.get(f"/projects/{round.project.slug}/messages/").content.decode()
        assert "1 new reply" in client.get("/work/").content.decode()
        manager.post(reverse("practice:attempt-forgive", args=[round.project.slug, last.pk]))
        assert "wrote to you" not in manager.get(overview).content.decode()

    def test_a_message_from_before_is_in_the_inbox_while_it_waits(self, round, anna):
        make_practice(round.project, tries=1)
        attempt = fails(anna, round.project)
        PracticeAttempt.objects.update(message="Mir fehlt ein Beispiel")
        migration = import_module("office.practice.migrations.0003_bring_messages_into_the_inbox")
        migration.bring_messages_into_the_inbox(apps, connection.schema_editor())
        inbox = client_of(round.project.created_by).get(f"/projects/{round.project.slug}/inbox/").content.decode()
        assert "Mir fehlt ein Beispiel" in inbox
        assert ManagerThread.objects.get(person=anna).asked_at == attempt.finished_at

    def test_a_message_to_the_managers_goes_with_the_account(self, round, anna):
        make_practice(round.project, tries=1)
        attempt = fails(anna, round.project)
        write_to_managers(attempt=attempt, text="Ich heiße Anna", now=NOW)
        (part,) = data_export(anna)
        assert {row["message_to_managers"] for row in part.rows} == {"Ich heiße Anna"}
        delete_account(user=anna, now=NOW)
        attempt.refresh_from_db()
        assert attempt.message == ""

    def test_only_kinds_and_languages_of_the_person_begin(self, round, anna):
        make_practice(round.project, PracticeKind.COMPARING)
        start = reverse("practice:practice-start", args=[round.project.slug])
        for sent in ({"kind": "comparing", "language": "de"}, {"kind": "rating", "language": "hi"}, {}):
            assert client_of(anna).post(start, sent).status_code == 404

    def test_a_manager_reads_every_answer(self, round, anna):
        make_practice(round.project)
        attempt = fails(anna, round.project)
        address = reverse("practice:attempt-review", args=[round.project.slug, attempt.pk])
        page = client_of(round.project.created_by).get(address).content.decode()
        assert page.count("Our answer") == 3
        assert "Allow another try" in page


class TestEditing:
    @pytest.fixture
    def image(self):
        collection = make_round().collection
        image = make_image()
        collection.entries.create(image=image, key="practice", position=99)
        return image

    def sent(self, of: Any, **about: Any) -> dict[str, Any]:
        example = {"image": of.pk, "language": "en", "caption": "A dog", "answer": "GOOD", "why": "It says so."}
        fields = {f"example-0-{name}": value for name, value in example.items()}
        return {"is_required": "on", "pass_percent": 80, "tries": 2, "after": 0, "do": "publish"} | fields | about

    @pytest.fixture
    def address(self, round):
        return reverse("practice:practice-edit", args=[round.project.slug, "rating"])

    def test_examples_are_published_in_versions(self, round, image, address):
        manager = client_of(round.project.created_by)
        assert manager.post(address, self.sent(image)).status_code == 302
        also = {"example-0-also_right": ["EXCELLENT", "MEDIUM"], "after": 1, "asks_again": "on"}
        assert manager.post(address, self.sent(image, **also)).status_code == 302
        newest = PracticeSet.objects.get(version=2)
        assert (newest.counts_from, newest.items.get().also_right) == (2, "EXCELLENT,MEDIUM")
        assert "checked" in manager.get(address).content.decode().split("Also right")[1]
        assert round.project.audit_entries.filter(action="practice.published").count() == 2

    def test_somebody_elses_version_in_between_is_not_replaced_unseen(self, round, image, address):
        manager = client_of(round.project.created_by)
        manager.post(address, self.sent(image))
        assert manager.post(address, self.sent(image)).status_code == 409
        assert PracticeSet.objects.count() == 1

    def test_images_that_people_describe_here_are_neither_offered_nor_taken(self, round, address):
        described = round.collection.entries.select_related("image").first()
        manager = client_of(round.project.created_by)
        assert f">{described.key}<" not in manager.get(address).content.decode()
        assert manager.post(address, self.sent(described.image)).status_code == 422
        with pytest.raises(ImageInWorkError):
            make_practice(round.project, items=[new_item(PracticeKind.RATING, image=described.image)])
        assert not PracticeSet.objects.exists()

    def test_one_without_examples_and_two_captions_alike_are_refused(self, round, image, address):
        manager = client_of(round.project.created_by)
        bare = {name: value for name, value in self.sent(image).items() if not name.startswith("example")}
        assert "Add at least one example." in manager.post(address, bare).content.decode()
        comparing = reverse("practice:practice-edit", args=[round.project.slug, "comparing"])
        alike = self.sent(image, **{"example-0-other_caption": "A dog", "example-0-answer": "better"})
        assert "Both captions are the same." in manager.post(comparing, alike).content.decode()

    def test_examples_are_added_and_removed(self, round, image, address):
        manager = client_of(round.project.created_by)
        added = manager.post(address, self.sent(image, do="add", image=image.pk)).content.decode()
        assert 'id="example-1"' in added
        assert 'id="example-0"' not in manager.post(address, self.sent(image, do="drop-example-0")).content.decode()

    def test_an_unknown_kind_is_not_found(self, round):
        address = reverse("practice:practice-edit", args=[round.project.slug, "singing"])
        assert client_of(round.project.created_by).get(address).status_code == 404

    def test_stale_is_said_by_the_service(self, round):
        make_practice(round.project)
        with pytest.raises(StalePracticeError):
            make_practice(round.project, after=0)


def test_levels_below_fluent_do_not_practise(round):
    learner = make_annotator(round, "lea", level=LanguageLevel.NATIVE)
    learner.language_skills.update(level="advanced")
    make_practice(round.project)
    page = client_of(learner).get(reverse("practice:practice-show", args=[round.project.slug]))
    assert "There is nothing to practise." in page.content.decode()


def test_an_archived_project_offers_no_practice(round, anna):
    make_practice(round.project)
    show = reverse("practice:practice-show", args=[round.project.slug])
    assert client_of(anna).get(show).status_code == 200
    Project.objects.filter(pk=round.project_id).update(archived_at=NOW)
    assert client_of(anna).get(show).status_code == 404
