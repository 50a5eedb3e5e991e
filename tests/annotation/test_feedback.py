"""What managers say to annotators: who sees it, that it is read before the next batch, and what it must not show."""

from __future__ import annotations

from random import Random

import pytest
from django.urls import reverse

from annotation.models import Caption, Feedback, Rating, Round
from annotation.permissions import missing_requirements
from annotation.selectors.feedback import notes_to, unread
from annotation.services import batches
from annotation.services.feedback import FeedbackError, acknowledge, give_feedback
from core.people.models import AuditEntry, User
from core.people.selectors.qualification import NotQualifiedError
from tests.annotation.submitting import submit_captions, take
from tests.clients import client_of
from tests.concurrency import together
from tests.factories import MINUTE, NOW, join_project, make_annotator, make_round, make_user

pytestmark = pytest.mark.django_db
TEXT = "Name the colours, too."


def make_begun() -> tuple[Round, User]:
    round = make_round(images=4, replication=2, batch_size=2)
    return round, make_annotator(round, "ann")


def make_written() -> tuple[Round, User]:
    round, ann = make_begun()
    submit_captions(round, ann)
    return round, ann


@pytest.fixture
def world(made_once, request) -> tuple[Round, User]:
    return made_once(make_written if "caption" in request.fixturenames else make_begun)


@pytest.fixture
def round(world) -> Round:
    return world[0]


@pytest.fixture
def ann(world) -> User:
    return world[1]


@pytest.fixture
def caption(world) -> Caption:
    return Caption.objects.order_by("item__position").first()


def give(round: Round, person: User, text: str = TEXT, caption: Caption | None = None) -> Feedback:
    by = round.project.created_by
    return give_feedback(round=round, person=person, text=text, by=by, now=NOW, caption=caption)


def show(user: User, feedback: Feedback):
    return client_of(user).get(reverse("annotation:feedback-show", args=[feedback.pk]))


def take_elsewhere(round: Round, person: User) -> None:
    """Have `person` hold the same images in another project."""
    elsewhere = make_round(collection=round.collection, replication=1)
    join_project(elsewhere.project, person)
    assert batches.take_batch(round=elsewhere, person=person, now=NOW, rng=Random(0))


class TestBeforeTheNextBatch:
    def test_it_is_read_and_acknowledged_and_the_first_time_stays(self, round, ann):
        feedback = give(round, ann)

        with pytest.raises(NotQualifiedError) as stopped:
            take(round, ann)
        acknowledge(feedback_id=feedback.pk, person=ann, now=NOW)

        assert [missing_requirement.code for missing_requirement in stopped.value.missing_requirements] == ["feedback"]
        assert take(round, ann)
        acknowledge(feedback_id=feedback.pk, person=ann, now=NOW + MINUTE)

        feedback.refresh_from_db()
        assert feedback.acknowledged_at == NOW

    def test_all_of_it_is(self, round, ann, caption):
        first, second = give(round, ann), give(round, ann, "And the sky.", caption)

        acknowledge(feedback_id=first.pk, person=ann, now=NOW)
        assert [missing_requirement.code for missing_requirement in missing_requirements(ann, round)] == ["feedback"]
        acknowledge(feedback_id=second.pk, person=ann, now=NOW)

        assert missing_requirements(ann, round) == []

    def test_in_any_language_of_the_project_but_in_no_other_project(self, round, ann):
        french = make_round(project=round.project, language="fr")
        ann.language_skills.create(language=french.language, level="native")
        elsewhere = make_round()
        join_project(elsewhere.project, ann)
        give(round, ann)

        assert [missing_requirement.code for missing_requirement in missing_requirements(ann, french)] == ["feedback"]
        assert missing_requirements(ann, elsewhere) == []

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_others_are_not_held_up_and_the_work_page_says_so_and_leads_there(self, round, ann):
        give(round, ann)
        assert missing_requirements(make_annotator(round), round) == []
        client = client_of(ann)

        page = client.get(reverse("annotation:work-show")).content.decode()
        assert "You have feedback from a manager" in page
        assert reverse("annotation:feedback-list") in page

    def test_a_batch_assigned_goes_on_and_is_submitted(self, round, ann):
        batch = take(round, ann)
        give(round, ann)
        client = client_of(ann)

        assert client.get(reverse("annotation:batch-rate", args=[batch.pk])).status_code in (200, 302)
        positions = list(batch.items.values_list("position", flat=True))
        who = {"batch_id": batch.pk, "person": ann, "now": NOW}
        batches.save_ratings(**who, ratings=dict.fromkeys(positions, Rating.GOOD))
        batches.open_writing(**who)
        for position in positions:
            text = f"Ein Bild von etwas, {position}"
            batches.save_draft(**who, position=position, text=text, revision=0, active_ms=0)

        assert batches.submit_batch(**who).submitted_at

    def test_acknowledging_by_the_page_opens_the_way(self, round, ann):
        feedback = give(round, ann)
        client = client_of(ann)
        assert TEXT in show(ann, feedback).content.decode()

        response = client.post(reverse("annotation:feedback-acknowledge", args=[feedback.pk]))

        assert response["Location"] == reverse("annotation:work-show")
        assert missing_requirements(ann, round) == []


class TestWhatIsShown:
    def test_on_a_caption_the_image_and_their_text_and_no_english_caption(self, round, ann, caption):
        page = show(ann, give(round, ann, caption=caption)).content.decode()

        assert TEXT in page
        assert caption.text in page
        assert "<img" in page
        assert caption.item.english.text not in page

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_nothing_while_they_have_the_image_assigned_and_nothing_holds_them_up(self, round, ann, caption):
        feedback = give(round, ann, caption=caption)
        take_elsewhere(round, ann)

        assert show(ann, feedback).status_code == 404
        assert notes_to(ann) == []
        assert unread(ann) == 0
        assert missing_requirements(ann, round) == []
        with pytest.raises(Feedback.DoesNotExist):
            acknowledge(feedback_id=feedback.pk, person=ann, now=NOW)

    def test_what_is_said_in_general_is_shown_all_the_same(self, round, ann, caption):
        give(round, ann)
        take_elsewhere(round, ann)

        assert [note.text for note in notes_to(ann)] == [TEXT]

    def test_what_was_read_stays_to_be_read_again_below_what_was_not(self, round, ann):
        first = give(round, ann, "Read.")
        acknowledge(feedback_id=first.pk, person=ann, now=NOW)
        give(round, ann, "Unread.")

        assert [note.text for note in notes_to(ann)] == ["Unread.", "Read."]


class TestGiving:
    @pytest.mark.parametrize("text", ["", " \r\n ", "x" * 5001, "a\x00b"])
    def test_nothing_or_too_much_is_refused(self, round, ann, text):
        with pytest.raises(FeedbackError):
            give(round, ann, text)

    def test_to_nobody_but_annotators_and_on_a_caption_to_its_author_alone(self, round, caption):
        with pytest.raises(FeedbackError, match="annotator"):
            give(round, make_user())
        with pytest.raises(FeedbackError, match="did not write this caption"):
            give(round, make_annotator(round), caption=caption)

    def test_it_stands_in_the_log_without_its_words(self, round, ann):
        give(round, ann)

        entry = AuditEntry.objects.get(action="feedback.given")
        assert (entry.by, entry.person) == (round.project.created_by, ann)
        assert TEXT not in str(entry.details) + entry.about

    def test_a_manager_gives_it_in_general_and_sees_that_it_was_read(self, round, ann):
        manager = client_of(round.project.created_by)
        path = reverse("annotation:feedback-create", args=[round.project.slug, round.pk])

        response = manager.post(path, {"person": ann.pk, "text": TEXT})
        assert response["Location"] == path
        assert "not read yet" in manager.get(path).content.decode()
        acknowledge(feedback_id=Feedback.objects.get().pk, person=ann, now=NOW)

        page = manager.get(path).content.decode()
        assert TEXT in page
        assert "not read yet" not in page

    def test_what_was_typed_stays_where_it_is_refused(self, round):
        path = reverse("annotation:feedback-create", args=[round.project.slug, round.pk])

        page = client_of(round.project.created_by).post(path, {"person": "", "text": TEXT})

        assert page.status_code == 422
        assert TEXT in page.content.decode()

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_who_may_be_chosen_speaks_the_language(self, round, ann):
        make_annotator(make_round(project=round.project, language="fr"), "fay")
        path = reverse("annotation:feedback-create", args=[round.project.slug, round.pk])

        page = client_of(round.project.created_by).get(path).content.decode()

        assert ">ann</option>" in page
        assert ">fay</option>" not in page


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_acknowledged_in_many_tabs_at_once_it_is_acknowledged_once():
    round = make_round()
    ann = make_annotator(round)
    feedback = give(round, ann)
    times = [NOW + number * MINUTE for number in range(4)]

    acknowledged = together(
        lambda now: acknowledge(feedback_id=feedback.pk, person=ann, now=now).acknowledged_at, times
    )

    assert len(set(acknowledged)) == 1
