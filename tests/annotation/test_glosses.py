"""Glosses: who makes them, what is told about them, when they go, and that workers do what was asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.urls import reverse

from annotation.models import Caption, CaptionGloss, CaptionState, GlossRequest, MessageGloss, Round
from annotation.selectors.glosses import gloss_progress, gloss_translators
from annotation.services import corrections, glosses
from annotation.services.withdrawal import withdraw_answers
from core.conversation.permissions import ReportableItem
from core.conversation.rules import ReportReason
from core.conversation.services import answer_thread, ask_managers, keep_report
from core.jobs.models import JobState
from core.people.models import User
from research.inference.backends import registry
from research.inference.models import Translator
from tests.annotation.submitting import submit_captions
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_round
from tests.inference import fake_backend

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


@pytest.fixture(autouse=True)
def _fake_translator(monkeypatch):
    monkeypatch.setattr(registry, "OWN_TRANSLATORS", (*registry.OWN_TRANSLATORS, fake_backend.TRANSLATOR))


def make_written_round() -> Round:
    round = make_round(images=3, replication=2)
    submit_captions(round, make_annotator(round, "ann"), "Was Ann sieht")
    return round


@pytest.fixture
def round(made_once) -> Round:
    return made_once(make_written_round)


@pytest.fixture
def manager(round) -> User:
    return round.project.created_by


@pytest.fixture
def translator(round) -> Translator:
    return Translator.objects.create(name="Fake <NLLB>", backend="fake", source="some/where", project=round.project)


@pytest.fixture
def path(round) -> str:
    return reverse("annotation:glosses-ask", args=[round.project.slug, "de"])


def ask(round: Round, by: User, **about: Any) -> GlossRequest:
    asked: dict[str, Any] = {
        "project": round.project,
        "languages": [round.language],
        "by": by,
        "now": NOW,
        "keeps_up": False,
    }
    return glosses.ask_for_glosses(**asked | {"by_whom": gloss_translators(round.project)[0]} | about)[0]


def work(request: GlossRequest, **about) -> bool:
    later = NOW + timedelta(minutes=5)
    return glosses.execute_request(request_id=request.pk, clock=lambda: later, **about)


@pytest.mark.usefixtures("translator")
class TestMaking:
    def test_every_caption_is_translated_and_marked_as_a_machines(self, round, manager, path):
        client_of(manager).post(path, {"translator": Translator.objects.get().pk})
        request = GlossRequest.objects.get()

        assert not work(request)

        check = reverse("annotation:check-show", args=[round.project.slug, "de"])
        html = client_of(manager).get(check).content.decode()
        assert html.count('<span lang="en" dir="ltr">Was Ann sieht') == 3
        assert html.count("Translated by machine (Fake &lt;NLLB&gt;)") == 3
        assert CaptionGloss.objects.values_list("version", flat=True)[0] == "some/where, fake"
        request.refresh_from_db()
        assert request.state == JobState.DONE

    def test_what_a_machine_cannot_translate_says_why_and_is_not_tried_again(self, round, manager):
        odd = Caption.objects.earliest("pk")
        Caption.objects.filter(pk=odd.pk).update(text="odd")

        work(ask(round, manager))

        assert CaptionGloss.objects.get(caption=odd).problem == "Too odd."
        progress = gloss_progress(round.project, round.language)
        assert (progress.made, progress.failed, progress.waiting) == (2, 1, 0)

    def test_a_slice_of_time_ends_and_the_next_one_does_the_rest(self, round, manager, monkeypatch):
        monkeypatch.setattr(fake_backend.FakeTranslation, "batch_size", 2)
        request = ask(round, manager)

        assert work(request, slice_s=0)
        assert CaptionGloss.objects.count() == 2
        assert work(request, slice_s=0)
        assert not work(request, slice_s=0)
        assert CaptionGloss.objects.count() == 3

    def test_a_caption_that_changed_meanwhile_gets_no_gloss_of_its_old_text(self, round, manager, monkeypatch):
        slow = fake_backend.FakeTranslation.translate_into_english
        changed = Caption.objects.latest("pk")

        def rewritten_meanwhile(self, texts, **about):
            Caption.objects.filter(pk=changed.pk).exclude(text="Neu").update(text="Neu")
            return slow(self, texts, **about)

        monkeypatch.setattr(glosses._GlossSlice, "meanwhile", lambda self, compute: compute())
        monkeypatch.setattr(fake_backend.FakeTranslation, "translate_into_english", rewritten_meanwhile)
        work(ask(round, manager))

        assert CaptionGloss.objects.get(caption=changed).text == "Neu from de"

    def test_later_captions_are_translated_if_that_was_asked_for(self, round, manager):
        request = ask(round, manager, keeps_up=True)
        work(request)
        assert glosses.requests_waiting(now=NOW + timedelta(minutes=5)) == []
        submit_captions(round, make_annotator(round, "bea"), "Was Bea sieht", now=NOW + timedelta(hours=1))

        assert glosses.requests_waiting(now=NOW + timedelta(hours=1)) == [request.pk]
        work(request)

        assert CaptionGloss.objects.count() == 6

    def test_another_translator_replaces_what_the_first_one_made(self, round, manager):
        work(ask(round, manager))
        other = Translator.objects.create(name="Other", backend="fake", source="else", project=round.project)

        work(ask(round, manager, by_whom=gloss_translators(round.project)[1]))

        assert set(CaptionGloss.objects.values_list("translator", flat=True)) == {other.pk}


@pytest.mark.usefixtures("translator")
class TestMessages:
    def test_messages_and_comments_are_translated_for_managers_alone(self, round, manager, path):
        request, ann = ask(round, manager, keeps_up=True), User.objects.get(username="ann")
        work(request)
        about: dict[str, Any] = {"person": ann, "now": NOW + timedelta(hours=1)}
        thread = ask_managers(**about, project=round.project, text="Darf ich?").thread_id
        answer_thread(thread_id=thread, text="Ja, gern.", by=manager, now=NOW + timedelta(hours=1))
        item = ReportableItem(round.project, round.language, round.tasks.first().image, "")
        with transaction.atomic():
            keep_report(
                item=item, about=f"captions:{uuid4()}:1", reason=ReportReason.BROKEN, comment="Nur grau.", **about
            )
        assert glosses.requests_waiting(now=NOW + timedelta(hours=1)) == [request.pk]
        assert gloss_progress(round.project, round.language).waiting == 2
        work(request)

        progress = gloss_progress(round.project, round.language)
        assert (progress.made, progress.waiting) == (3 + 2, 0)
        client, inbox = client_of(manager), f"/projects/{round.project.slug}/inbox/"
        shown = client.get(f"{inbox}threads/{thread}/").content.decode()
        assert [text for text in ("Darf ich? from", "grau. from") if text not in shown] == []
        assert "gern. from" not in shown, "managers wrote it"
        assert "Translated by machine (Fake &lt;NLLB&gt;)" in shown
        assert "Nur grau. from de" in client.get(inbox).content.decode()
        theirs = client_of(ann).get(f"/projects/{round.project.slug}/messages/").content.decode()
        assert "Nur grau." in theirs
        assert "from de" not in theirs
        client.post(path, {"action": "delete"})
        assert not MessageGloss.objects.exists()

    def test_no_message_goes_to_an_outside_translator(self, round, manager, monkeypatch):
        monkeypatch.setattr(fake_backend.FakeTranslator, "is_remote", True, raising=False)
        work(request := ask(round, manager, keeps_up=True))
        request.refresh_from_db()
        ann = User.objects.get(username="ann")
        ask_managers(project=round.project, person=ann, text="Darf ich?", now=request.finished_at)

        assert glosses.requests_waiting(now=NOW + timedelta(hours=1)) == []
        work(ask(round, manager))
        progress = gloss_progress(round.project, round.language)
        assert (progress.made, progress.waiting) == (3, 0)
        assert not MessageGloss.objects.exists()

    def test_a_message_in_another_script_is_left_out(self, round, manager):
        ann = User.objects.get(username="ann")
        for text in ("Можно мне?", "Darf ich?"):
            ask_managers(project=round.project, person=ann, text=text, now=NOW)
        work(ask(round, manager))

        assert MessageGloss.objects.get().text == "Darf ich? from de"
        assert gloss_progress(round.project, round.language).waiting == 0

    def test_a_message_by_who_knows_several_languages_is_not_guessed_at(self, round, manager):
        ann = User.objects.get(username="ann")
        ann.language_skills.create(language_id="fr", level="native")
        ask_managers(project=round.project, person=ann, text="Ça va ?", now=NOW)
        work(ask(round, manager))

        assert CaptionGloss.objects.exists()
        assert not MessageGloss.objects.exists()


@pytest.mark.usefixtures("translator")
class TestWhatGoes:
    def test_a_rewritten_caption_loses_its_gloss_and_gets_a_new_one(self, round, manager):
        request, caption = ask(round, manager, keeps_up=True), Caption.objects.earliest("pk")
        work(request)
        corrections.return_for_correction(caption_id=caption.pk, note="Bitte genauer.", by=manager, now=NOW)

        corrections.rewrite(caption_id=caption.pk, author=caption.author, text="Ein Hund am See", now=NOW)

        assert not CaptionGloss.objects.filter(caption=caption).exists()
        work(request)
        assert CaptionGloss.objects.get(caption=caption).text == "Ein Hund am See from de"

    def test_withdrawn_captions_lose_theirs(self, round, manager):
        work(ask(round, manager))
        ann = User.objects.get(username="ann")

        with transaction.atomic():
            withdraw_answers(project=round.project, person=ann, keeps_answers=False, now=NOW)

        assert not CaptionGloss.objects.exists()
        assert set(Caption.objects.values_list("state", flat=True)) == {CaptionState.WITHDRAWN}

    def test_a_manager_deletes_them_and_no_worker_makes_more(self, round, manager, path):
        request = ask(round, manager, keeps_up=True)
        work(request)

        client_of(manager).post(path, {"action": "delete"})

        assert not CaptionGloss.objects.exists()
        assert not work(request)


class TestThePage:
    def test_it_says_what_to_do_without_a_translator(self, manager, path):
        assert "No translator yet" in client_of(manager).get(path).content.decode()

    def test_it_says_where_texts_go_and_what_they_cost(self, round, manager, path, settings):
        settings.CAPTION_ENDPOINTS, settings.CAPTION_ENDPOINT_KEYS = {"lab": "http://gpu/v1"}, {"lab": "none"}
        options = {"model": "m", "input_price": 0.5, "output_price": 2}
        Translator.objects.create(name="Far", backend="endpoint", source="lab", options=options, project=round.project)

        html = client_of(manager).get(path).content.decode()

        assert "Sends captions to the endpoint “lab”, outside this installation." in html
        assert "A million tokens cost 0.5 to read and 2 to write." in html
        assert "3 captions with 45 characters are waiting" in " ".join(html.split())

    def test_others_translators_and_those_that_do_not_read_the_language_are_not_offered(self, round, manager, path):
        other = make_round(project=None, language="fr")
        Translator.objects.create(name="Theirs", backend="fake", source="x", project=other.project)
        refused = client_of(manager).post(path, {"translator": Translator.objects.get().pk})
        assert refused.status_code == 422
        assert not GlossRequest.objects.exists()

    def test_decisions_about_a_person_show_glosses(self, round, manager, translator):
        work(ask(round, manager))
        ann = User.objects.get(username="ann")
        where = [round.project.slug, "de", ann.pk]

        for name in ("annotator-status-show", "annotator-status-decide"):
            html = client_of(manager).get(reverse(f"annotation:{name}", args=where)).content.decode()
            assert html.count("Translated by machine") == 3
