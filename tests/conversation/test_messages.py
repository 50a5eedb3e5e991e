"""People ask the managers of their project, who answer in the inbox."""

from __future__ import annotations

import re
from datetime import timedelta
from importlib import import_module
from random import Random
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.apps import apps
from django.core import mail
from django.db import connection
from django.test import Client
from django.utils import timezone

from annotation.models import Rating
from annotation.services import batches
from annotation.services.feedback import give_feedback
from core.conversation import services
from core.conversation.models import ManagerThread, ThreadMessage
from core.conversation.selectors import data_export, projects_to_ask
from core.people.models import LanguageLevel, LanguageSkill, Role
from core.people.services.accounts import delete_account
from gapgame.models import SeasonAccess
from gapgame.services import playing
from office.dashboard.models import Notice, NoticeKind
from office.dashboard.services.emails import compose, queue_notices
from sxs_eval.services import judging
from tests.annotation.submitting import submit_captions, take
from tests.api.seeded import Program
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_comparison, make_player, make_round, make_season

pytestmark = pytest.mark.django_db


class Asking:
    """Somebody with a batch, and the manager."""

    def __init__(self) -> None:
        self.round = make_round(images=2, replication=2, lease_s=10**9)
        self.project, self.ann = self.round.project, make_annotator(self.round, "ann")
        self.batch = take(self.round, self.ann)
        self.client, self.manager = client_of(self.ann), client_of(self.project.created_by)
        self.inbox = f"/projects/{self.project.slug}/inbox/"
        self.thread = f"/projects/{self.project.slug}/messages/"

    def ask_about_an_image(self, text: str) -> Any:
        return self.client.post(f"/report/captions/{self.batch.pk}/1/", {"comment": text, "ask": "1"})

    def reply(self, **sent: str) -> None:
        thread = ManagerThread.objects.get(person=self.ann)
        assert self.manager.post(f"{self.inbox}threads/{thread.pk}/", sent).status_code == 302


@pytest.fixture
def asking() -> Asking:
    return Asking()


def said(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def test_programs_read_the_inbox_of_one_language(asking: Asking) -> None:
    asking.ask_about_an_image("Is this a lion?")
    asking.client.post(f"/report/captions/{asking.batch.pk}/2/", {"reason": "broken"})
    mia, inbox = Program(asking.project.created_by), f"/api/v1{asking.inbox}"
    for kind in ("threads", "images"):
        assert len(mia.all_of(f"{inbox}{kind}/", language="DE")) == len(mia.all_of(f"{inbox}{kind}/")) == 1
        assert mia.get(f"{inbox}{kind}/", language="fr").json()["errors"] == {"language": ["Valid values: de."]}
    ThreadMessage.objects.update(language="fr")
    assert mia.all_of(f"{inbox}threads/", language="de") == []
    assert len(mia.all_of(f"{inbox}threads/", language="fr")) == 1


def test_a_question_is_answered_and_the_reply_counted_until_it_is_confirmed(asking: Asking) -> None:
    asking.client.post(asking.thread, {"text": "May I write two sentences?"})

    assert "1 message to answer" in said(asking.manager, "/needs/")
    assert "May I write two sentences?" in said(asking.manager, asking.inbox)
    asking.reply(text="No, one.")
    assert "message to answer" not in said(asking.manager, "/needs/")
    assert "No, one." in said(asking.manager, f"{asking.inbox}?shown=answered&kind=questions")
    assert "1 new reply" in said(asking.client, "/work/")
    assert "No, one." in said(asking.client, asking.thread)
    asking.client.post(asking.thread, {"read": str(ThreadMessage.objects.get(is_reply=True).pk)})
    assert "new reply" not in said(asking.client, "/work/")


def open_screen_2(asking: Asking) -> None:
    who: dict[str, Any] = {"batch_id": asking.batch.pk, "person": asking.ann, "now": NOW}
    batches.save_ratings(ratings=dict.fromkeys((1, 2), Rating.GOOD), **who)
    batches.open_writing(**who)


def write_all(asking: Asking) -> None:
    who: dict[str, Any] = {"batch_id": asking.batch.pk, "person": asking.ann, "now": NOW}
    for position in (1, 2):
        batches.save_draft(position=position, text="Ein Satz dazu.", revision=0, active_ms=0, **who)
    batches.submit_batch(**who)


@pytest.mark.parametrize("is_program", [False, True])
def test_a_reply_that_was_hidden_stays_new_until_it_was_shown(asking: Asking, is_program: bool) -> None:
    asking.ask_about_an_image("Why “english caption”?")
    asking.reply(text="It is hidden.")
    hidden = ThreadMessage.objects.get(is_reply=True).pk
    open_screen_2(asking)
    asking.ask_about_an_image("What is the red thing?")
    asking.reply(text="A buoy.")
    if is_program:
        api = f"/api/v1/projects/{asking.project.slug}/messages/"
        shown = [one["id"] for one in asking.client.get(api).json()["results"] if one["is_reply"]]
        sent = {"replies": shown}
        assert asking.client.post(f"{api}read/", sent, content_type="application/json").status_code == 204
    else:
        shown = re.findall(r'name="read" value="(\d+)"', said(asking.client, asking.thread))
        asking.client.post(asking.thread, {"read": shown})

    assert len(shown) == 1
    assert "new reply" not in said(asking.client, "/work/")
    write_all(asking)
    assert "1 new reply" in said(asking.client, "/work/")
    assert re.findall(r'name="read" value="(\d+)"', said(asking.client, asking.thread)) == [str(hidden)]


def test_the_comment_of_a_report_is_answered_and_the_reply_hidden_on_screen_2(asking: Asking) -> None:
    report = {"reason": "language", "comment": "“english caption” is Welsh."}
    asking.client.post(f"/report/captions/{asking.batch.pk}/1/", report)
    assert "1 message to answer" in said(asking.manager, "/needs/"), "the image, and not its comment once more"
    thread = ManagerThread.objects.get(person=asking.ann)
    assert f'href="{asking.inbox}threads/{thread.pk}/"' in said(asking.manager, asking.inbox)
    api = asking.manager.get(f"/api/v1{asking.inbox}images/").json()["results"][0]["reports"][0]
    assert api["thread"] == thread.pk
    assert "Nothing here." in said(asking.manager, f"{asking.inbox}?shown=answered")
    assert "another language" in said(asking.manager, f"{asking.inbox}threads/{thread.pk}/")
    asking.reply(text="“english caption” is English.")

    assert "1 new reply" in said(asking.client, "/work/")
    assert said(asking.client, asking.thread).count("english caption") == 2
    who: dict[str, Any] = {"batch_id": asking.batch.pk, "person": asking.ann, "now": NOW}
    batches.save_ratings(ratings={2: Rating.GOOD}, **who)
    batches.open_writing(**who)
    assert "english caption" not in said(asking.client, asking.thread)
    batches.save_draft(position=2, text="Ein Satz dazu.", revision=0, active_ms=0, **who)
    batches.submit_batch(**who)
    assert said(asking.client, asking.thread).count("english caption") == 2
    asking.client.post(asking.thread, {"read": str(ThreadMessage.objects.get(is_reply=True).pk)})
    assert "new reply" not in said(asking.client, "/work/")


def test_comments_from_before_can_be_answered_too(asking: Asking) -> None:
    asking.client.post(f"/report/captions/{asking.batch.pk}/1/", {"reason": "broken", "comment": "Grey."})
    ManagerThread.objects.all().delete()
    import_module("core.conversation.migrations.0005_answer_comments_of_reports").put_comments_into_threads(
        apps, connection.schema_editor()
    )
    asking.reply(text="Thank you.")
    assert ThreadMessage.objects.get(is_reply=True).image_id is not None
    assert "Grey." in said(asking.client, asking.thread)


def test_a_reply_to_a_question_and_to_the_comment_of_a_report_is_hidden_like_the_question(asking: Asking) -> None:
    asking.client.post(asking.thread, {"text": "May I?"})
    asking.client.post(f"/report/captions/{asking.batch.pk}/1/", {"reason": "broken", "comment": "Grey."})
    asking.reply(text="Yes.")
    assert ThreadMessage.objects.get(is_reply=True).image is None


def test_a_saved_answer_stands_before_what_is_typed(asking: Asking) -> None:
    asking.client.post(asking.thread, {"text": "May I?"})
    for _ in range(2):
        asking.manager.post(f"{asking.inbox}answers/", {"title": "No", "text": "No, see the guidelines."})
    saved = asking.project.saved_answers.get()
    asking.reply(text="Sorry.", saved=str(saved.pk))

    assert ThreadMessage.objects.get(is_reply=True).text == "No, see the guidelines.\n\nSorry."
    asking.manager.post(f"{asking.inbox}answers/{saved.pk}/delete/")
    assert not asking.project.saved_answers.exists()


def test_a_question_about_an_image_keeps_the_image_and_is_hidden_on_screen_2(asking: Asking) -> None:
    asking.ask_about_an_image("Why does it say “english caption”?")
    asking.reply(text="The english caption is a model's.")
    assert asking.batch.lease.assignments.filter(state="assigned").count() == 2
    assert "english caption" in said(asking.client, asking.thread)
    who: dict[str, Any] = {"batch_id": asking.batch.pk, "person": asking.ann, "now": NOW}
    batches.save_ratings(ratings=dict.fromkeys((1, 2), Rating.GOOD), **who)
    batches.open_writing(**who)

    assert "english caption" not in said(asking.client, asking.thread)
    assert "english caption" not in said(asking.client, f"/api/v1/projects/{asking.project.slug}/messages/")
    asking.ask_about_an_image("What is the red thing?")
    asking.reply(text="A buoy.")
    assert "buoy" in said(asking.client, asking.thread)
    assert "english caption" in said(asking.manager, f"{asking.inbox}threads/{ManagerThread.objects.get().pk}/")


def test_a_question_about_a_pair_of_english_captions_is_hidden_on_screen_2_of_its_image(asking: Asking) -> None:
    ann = make_annotator(asking.round)
    asking.project.memberships.create(user=ann, role=Role.RATER)
    client = client_of(ann)
    for language in ("en", "fr"):
        comparison = make_comparison(
            project=asking.project, collection=asking.round.collection, language=language, images=2
        )
        LanguageSkill.objects.create(user=ann, language=comparison.language, level=LanguageLevel.NATIVE)
        pairs = judging.take_batch(comparison=comparison, person=ann, now=NOW, rng=Random(1))
        assert pairs is not None
        client.post(f"/report/pairs/{pairs.pk}/1/", {"comment": f"Is “{language} caption” better?", "ask": "1"})
        for position in (1, 2):
            judging.judge(batch_id=pairs.pk, person=ann, position=position, choice=1, now=NOW)
        judging.return_batch(batch_id=pairs.pk, person=ann, now=NOW)
    assert [f"{language} caption" in said(client, asking.thread) for language in ("en", "fr")] == [True, True]
    batch = take(asking.round, ann)
    who: dict[str, Any] = {"batch_id": batch.pk, "person": ann, "now": NOW}
    batches.save_ratings(ratings=dict.fromkeys((1, 2), Rating.GOOD), **who)
    batches.open_writing(**who)

    assert [f"{language} caption" in said(client, asking.thread) for language in ("en", "fr")] == [False, True]


def test_what_is_said_about_no_image_is_hidden_on_screen_2_since_the_batch_was_taken(asking: Asking) -> None:
    services.ask_managers(project=asking.project, person=asking.ann, text="A general one.", now=NOW - timedelta(days=9))
    asking.client.post(asking.thread, {"text": "Is “english caption” good?"})
    assert "is shown again" not in said(asking.client, asking.thread)
    asking.ask_about_an_image("What is the red thing?")
    asking.reply(text="The english caption is a model's.")
    who: dict[str, Any] = {"batch_id": asking.batch.pk, "person": asking.ann, "now": NOW}
    batches.save_ratings(ratings=dict.fromkeys((1, 2), Rating.GOOD), **who)
    batches.open_writing(**who)

    page = said(asking.client, asking.thread)
    assert "is shown again" in page
    assert "A general one." in page
    assert "english caption" not in page
    assert "new reply" not in said(asking.client, "/work/")
    assert "english" not in str([list(part.rows) for part in data_export(asking.ann) if part.name == "messages"])
    batches.return_batch(batch_id=asking.batch.pk, person=asking.ann, now=NOW)
    assert "english caption" not in said(asking.client, asking.thread)


def test_a_question_that_comes_while_a_manager_types_stays_open(asking: Asking) -> None:
    asking.client.post(asking.thread, {"text": "First?"})
    seen = ThreadMessage.objects.get().pk
    asking.client.post(asking.thread, {"text": "Second?"})
    asking.reply(resolve="1", newest=str(seen))
    assert ManagerThread.objects.get().is_open
    asking.reply(text="Yes.", newest=str(seen))
    assert ManagerThread.objects.get().is_open
    asking.reply(text="Yes.", newest=str(ThreadMessage.objects.filter(is_reply=False).latest("pk").pk))
    assert not ManagerThread.objects.get().is_open


def test_a_thread_is_of_one_person_and_closed_without_an_answer(asking: Asking) -> None:
    bob = make_annotator(asking.round, "bob")
    asking.client.post(asking.thread, {"text": "Thank you!"})
    asking.client.post(asking.thread, {"text": " "})

    assert "Thank you!" not in said(client_of(bob), asking.thread)
    asking.reply(resolve="1")
    assert not ManagerThread.objects.get().is_open
    assert ThreadMessage.objects.count() == 1
    assert [unread for _project, unread in projects_to_ask(asking.ann)] == [0]


def test_feedback_can_be_answered(asking: Asking) -> None:
    by = asking.project.created_by
    assert by is not None
    note = give_feedback(round=asking.round, person=asking.ann, text="Say more.", by=by, now=NOW)
    page = asking.client.post(f"/feedback/{note.pk}/reply/", {"text": "How much?"}, follow=True)

    assert "Sent." in page.content.decode()
    thread = said(asking.manager, f"{asking.inbox}threads/{ManagerThread.objects.get().pk}/")
    assert "Say more." in thread
    assert "How much?" in thread
    assert client_of(make_annotator(asking.round)).post(f"/feedback/{note.pk}/reply/").status_code == 404


def test_replies_to_feedback_are_hidden_while_the_image_is_in_work_of_any_kind(asking: Asking) -> None:
    submit_captions(asking.round, asking.ann)
    about: dict[str, Any] = {"round": asking.round, "person": asking.ann, "by": asking.project.created_by, "now": NOW}
    note = give_feedback(**about, caption=asking.round.captions.first(), text="You missed the boat.")
    asking.client.post(f"/feedback/{note.pk}/reply/", {"text": "Which boat?"})
    asking.reply(text="The boat that others saw.")

    def everything() -> str:
        rows = [list(part.rows) for part in data_export(asking.ann) if part.name == "messages"]
        api = f"/api/v1/projects/{asking.project.slug}/messages/"
        return said(asking.client, asking.thread) + said(asking.client, api) + str(rows)

    assert everything().count("that others saw") == 3
    assert said(asking.client, asking.thread).count("You missed the boat.") == 1
    comparison = make_comparison(project=asking.project, collection=asking.round.collection)
    asking.project.memberships.create(user=asking.ann, role=Role.RATER)
    assert judging.take_batch(comparison=comparison, person=asking.ann, now=NOW, rng=Random(1))
    assert "boat" not in everything()
    assert "boat" not in said(asking.client, "/feedback/")


def test_a_manager_on_screen_2_does_not_read_what_others_ask_about_no_image(asking: Asking) -> None:
    asking.client.post(asking.thread, {"text": "Is “english caption” good?"})
    both = make_annotator(asking.round)
    asking.project.memberships.create(user=both, role=Role.MANAGER)
    batch, client = take(asking.round, both), client_of(both)
    thread = ManagerThread.objects.get(person=asking.ann)
    pages = (asking.inbox, f"{asking.inbox}threads/{thread.pk}/", f"/api/v1{asking.inbox}threads/")
    assert ["english caption" in said(client, page) for page in pages] == [True, True, True]
    who: dict[str, Any] = {"batch_id": batch.pk, "person": both, "now": NOW}
    batches.save_ratings(ratings=dict.fromkeys((1, 2), Rating.GOOD), **who)
    batches.open_writing(**who)

    assert ["english caption" in said(client, page) for page in pages] == [False, False, False]
    assert "once you have finished the batch" in said(client, asking.inbox)
    assert "english caption" in said(asking.manager, asking.inbox)


def test_a_player_finds_the_reply_on_the_pages_of_the_game() -> None:
    season = make_season(starts_at=NOW, ends_at=NOW + timedelta(days=30000))
    player = make_player(season)
    who: dict[str, Any] = {"player_id": player.pk, "user": player.user, "now": timezone.now()}
    playing.take_batch(**who, language="en", rng=Random(1))
    turn = playing.open_turn(**who)
    assert turn is not None
    type(turn).objects.update(attempts_made=1)
    client, thread = client_of(player.user), f"/projects/{season.project.slug}/messages/"
    answer = client.post(f"/report/turns/{turn.pk}/1/", {"comment": "What is it?", "ask": "1"}, follow=True)
    assert "the reply on the page of the season" in answer.content.decode()
    by = season.project.created_by
    assert by is not None
    services.answer_thread(thread_id=ManagerThread.objects.get().pk, text="A buoy.", by=by, now=timezone.now())

    for page in ("/game/", f"/game/{season.slug}/"):
        shown = said(client, page)
        assert f'href="{thread}"' in shown
        assert "1 new reply" in shown
    assert "A buoy." in said(client, thread)


def test_a_note_on_a_skipped_sentence_is_answered_while_its_player_plays() -> None:
    season = make_season(starts_at=NOW, ends_at=NOW + timedelta(days=30000))
    player, now = make_player(season), timezone.now()
    playing.take_batch(player_id=player.pk, user=player.user, language="en", now=now, rng=Random(1))
    turn = playing.open_turn(player_id=player.pk, user=player.user, now=now)
    assert turn is not None
    client, manager = client_of(player.user), client_of(season.project.created_by)
    client.post(f"/game/turns/{turn.pk}/skip/", {"reason": "broken", "note": "No verb."})
    client.post(f"/game/turns/{turn.pk}/skip/", {"reason": "broken", "note": "Again."})

    asked = ThreadMessage.objects.get()
    assert asked.language == turn.item.language
    answer = f"/projects/{season.project.slug}/inbox/threads/{asked.thread_id}/"
    shown = said(manager, answer)
    assert all(text in shown for text in ("Skipped sentence", "No verb.", turn.item.before, turn.item.after))
    assert turn.item.word not in shown
    manager.post(answer, {"text": "It has none."})
    assert "1 new reply" in said(client, "/game/")
    season.project.memberships.filter(user=player.user).delete()
    assert "would not see a reply" in said(manager, answer)
    assert manager.post(answer, {"text": "Hello?"}).status_code == 422
    assert ThreadMessage.objects.count() == 2


def test_visitors_of_an_open_season_are_not_asked_to_write() -> None:
    season = make_season(access=SeasonAccess.OPEN)
    assert "Ask the managers" not in said(Client(), f"/game/{season.slug}/")


def test_nobody_writes_more_than_a_day_s_messages(asking: Asking) -> None:
    about: dict[str, Any] = {"project": asking.project, "person": asking.ann, "text": "Hello?"}
    for _ in range(services.MAX_MESSAGES_A_DAY):
        services.ask_managers(**about, now=NOW)

    with pytest.raises(services.MessageRefusedError):
        services.ask_managers(**about, now=NOW)
    services.ask_managers(**about, now=NOW + timedelta(days=1))


def test_a_reply_comes_by_e_mail_once(asking: Asking) -> None:
    EmailAddress.objects.create(user=asking.ann, email=asking.ann.email, verified=True, primary=True)
    asked = services.ask_managers(project=asking.project, person=asking.ann, text="May I?", now=NOW)
    by = asking.project.created_by
    assert by is not None
    services.answer_thread(thread_id=asked.thread_id, text="A secret.", by=by, now=NOW)
    queue_notices(now=NOW)
    queue_notices(now=NOW)

    notice = Notice.objects.get(kind=NoticeKind.REPLY)
    message = compose(notice, NOW)
    assert isinstance(message, mail.EmailMessage)
    assert asking.thread in message.body
    assert "A secret." not in message.body
    replies = [ThreadMessage.objects.get(is_reply=True).pk]
    services.confirm_replies(project=asking.project, person=make_annotator(asking.round), replies=replies, now=NOW)
    assert isinstance(compose(notice, NOW), mail.EmailMessage), "somebody else's confirmation confirms nothing"
    services.confirm_replies(project=asking.project, person=asking.ann, replies=replies, now=NOW)
    assert isinstance(compose(notice, NOW), str)


def test_messages_are_exported_and_go_with_the_account(asking: Asking) -> None:
    services.ask_managers(project=asking.project, person=asking.ann, text="I am Ann.", now=NOW)
    parts = {part.name: list(part.rows) for part in data_export(asking.ann)}
    assert parts["messages"][0]["text"] == "I am Ann."

    delete_account(user=asking.ann, now=NOW)
    assert not ManagerThread.objects.exists()
