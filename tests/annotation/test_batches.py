"""Rate, then write: what each step allows, and what it refuses."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from django.db import IntegrityError, transaction

from annotation.models import Caption, CaptionBatch, CaptionItem, Guidelines, Rating, Stage
from annotation.selectors.work import items_of
from annotation.services import batches as services
from annotation.services.round_batches import StaleStateError, UnratedImagesError
from annotation.services.rounds import add_missing_tasks
from core.allocation.models import Assignment, AssignmentState, Batch, BatchState, Pool
from core.allocation.services.errors import BatchReturnedError, LeaseExpiredError
from core.people.models import Consent, ConsentText, LanguageLevel, LanguageSkill, Membership, Project, Role, User
from core.people.selectors.qualification import NotQualifiedError
from research.inference.models import ModelCaption
from tests.factories import MINUTE, NOW, join_project, make_annotator, make_captioner, make_collection, make_round

pytestmark = pytest.mark.django_db


def take(round, person, now=NOW, seed=0):
    return services.take_batch(round=round, person=person, now=now, rng=Random(seed))


def rate(batch, person, rating=Rating.GOOD, now=NOW):
    positions = batch.items.values_list("position", flat=True)
    services.save_ratings(batch_id=batch.pk, person=person, ratings=dict.fromkeys(positions, rating), now=now)


def open_writing(batch, person, now=NOW):
    rate(batch, person, now=now)
    return services.open_writing(batch_id=batch.pk, person=person, now=now)


def save(batch, person, text, position=1, revision=0, active_ms=0, now=NOW):
    about = {"text": text, "position": position, "revision": revision, "active_ms": active_ms}
    return services.save_draft(batch_id=batch.pk, person=person, now=now, **about)


def write_all(batch, person, now=NOW):
    for item in batch.items.all():
        save(batch, person, f"Ein schönes Bild, das Nummer {item.position} zeigt", item.position, now=now)


def submit(batch, person, now=NOW):
    return services.submit_batch(batch_id=batch.pk, person=person, now=now)


def make_begun():
    round = make_round(images=3)
    return round, make_annotator(round, "ann"), None


def make_taken():
    round, ann, _none = make_begun()
    return round, ann, take(round, ann)


def make_writing():
    round, ann, batch = make_taken()
    return round, ann, open_writing(batch, ann)


@pytest.fixture
def world(made_once, request):
    names = request.fixturenames
    return made_once(make_writing if "writing" in names else make_taken if "batch" in names else make_begun)


@pytest.fixture
def round(world):
    return world[0]


@pytest.fixture
def ann(world):
    return world[1]


@pytest.fixture
def batch(world):
    return world[2]


@pytest.fixture
def writing(world):
    return world[2]


class TestWhoGetsABatch:
    def test_a_qualified_annotator_gets_every_image_with_its_english_caption(self, round, ann):
        batch = take(round, ann)

        assert {item.image_id for item in batch.items.all()} == {task.image_id for task in round.tasks.all()}
        assert all(item.english.image_id == item.image_id for item in batch.items.select_related("english"))
        assert batch.guidelines == Guidelines.objects.get(project=round.project)

    @pytest.mark.parametrize("level", [LanguageLevel.NATIVE, LanguageLevel.FLUENT])
    def test_native_and_fluent_speakers_qualify(self, round, level):
        assert take(round, make_annotator(round, level=level))

    def test_an_advanced_speaker_does_not(self, round):
        with pytest.raises(NotQualifiedError, match="native or fluent"):
            take(round, make_annotator(round, level=LanguageLevel.ADVANCED))

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (lambda ann: User.objects.filter(pk=ann.pk).update(reads_english=False), "needs good English"),
            (lambda ann: LanguageSkill.objects.filter(user=ann).update(language="fr"), "German"),
            (lambda ann: Membership.objects.filter(user=ann).update(role=Role.RATER), "not an annotator"),
            (lambda ann: Consent.objects.filter(user=ann).update(withdrawn_at=NOW), "consent"),
            (lambda ann: ConsentText.objects.create(project=Project.objects.get(), version=2, body="More."), "consent"),
        ],
        ids=["english", "language", "role", "withdrawn", "older-text"],
    )
    def test_who_lacks_english_the_language_the_role_or_consent_to_the_newest_text_does_not(
        self, round, ann, change, reason
    ):
        change(ann)
        ann.refresh_from_db()
        with pytest.raises(NotQualifiedError, match=reason):
            take(round, ann)


class TestWhatIsNotHandedOut:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_an_image_met_in_one_language_does_not_come_back_in_another(self, round, ann):
        LanguageSkill.objects.create(user=ann, language_id="fr", level=LanguageLevel.FLUENT)
        other = make_round(
            project=round.project, collection=round.collection, language="fr", captioners=round.captioners.all()
        )
        take(round, ann)

        assert take(other, ann) is None

    def test_an_image_in_submit_another_project_waits_until_that_is_submitted(self, round, ann, writing):
        other = make_round(collection=round.collection, captioners=round.captioners.all())
        join_project(other.project, ann)
        assert take(other, ann) is None

        write_all(writing, ann)
        submit(writing, ann)

        assert take(other, ann).items.count() == 3

    def test_images_without_an_english_caption_are_left_out_until_they_have_one(self):
        collection = make_collection(3)
        model = make_captioner(collection)
        held_back = ModelCaption.objects.first()
        image = held_back.image
        held_back.delete()
        round = make_round(collection=collection, captioners=[model])
        assert round.tasks.count() == 2

        ModelCaption.objects.create(model=model, image=image, language_id="en", text="now there is one")
        assert add_missing_tasks(round) == 1
        assert add_missing_tasks(round) == 0

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_one_of_several_captions_of_an_image_is_drawn_by_the_seed(self):
        collection = make_collection(40)
        models = [make_captioner(collection, name) for name in ("first", "second")]

        drawn = [
            [
                task.english.model.name
                for task in make_round(collection=collection, captioners=models, seed=seed)
                .tasks.order_by("image")
                .select_related("english__model")
            ]
            for seed in (7, 7, 8)
        ]

        assert drawn[0] == drawn[1] != drawn[2]
        assert set(drawn[0]) == {"first", "second"}


class TestScreenOne:
    def test_a_rating_may_be_changed_and_writing_does_not_open_before_all_are_rated(self, batch, ann):
        for rating in (Rating.BAD, Rating.EXCELLENT):
            services.save_rating(batch_id=batch.pk, person=ann, position=2, rating=rating, active_ms=0, now=NOW)

        assert batch.items.get(position=2).rating == Rating.EXCELLENT
        services.save_rating(batch_id=batch.pk, person=ann, position=2, rating=Rating.BAD, active_ms=0, now=NOW)

        with pytest.raises(UnratedImagesError) as stopped:
            services.open_writing(batch_id=batch.pk, person=ann, now=NOW)
        assert stopped.value.positions == [1, 3]

    def test_no_rating_changes_once_writing_is_open(self, writing, ann):
        with pytest.raises(StaleStateError):
            services.save_rating(batch_id=writing.pk, person=ann, position=1, rating=Rating.BAD, active_ms=0, now=NOW)
        with pytest.raises(StaleStateError):
            rate(writing, ann, Rating.BAD)
        assert set(writing.items.values_list("rating", flat=True)) == {Rating.GOOD}

    def test_nobody_rates_in_another_ones_batch_or_after_the_lease(self, batch, round, ann):
        bob = make_annotator(round, "bob")
        with pytest.raises(CaptionBatch.DoesNotExist):
            services.save_rating(batch_id=batch.pk, person=bob, position=1, rating=Rating.BAD, active_ms=0, now=NOW)
        with pytest.raises(LeaseExpiredError):
            rate(batch, ann, now=batch.lease.deadline)

    def test_time_on_task_is_at_most_what_the_clock_says(self, batch, ann):
        item = services.save_rating(
            batch_id=batch.pk, person=ann, position=1, rating=Rating.BAD, active_ms=10**8, now=NOW + MINUTE
        )
        assert item.rating_ms == 60_000


class TestScreenTwo:
    def test_a_draft_is_kept_letter_for_letter(self, writing, ann):
        typed = "  Cafe\u0301 am Morgen \n"
        save(writing, ann, typed)

        assert writing.items.get(position=1).text == typed

    def test_nothing_is_written_before_screen_two(self, batch, ann):
        with pytest.raises(StaleStateError):
            save(batch, ann, "zu früh")

    def test_the_same_draft_twice_is_one_and_a_stale_tab_does_not_overwrite(self, writing, ann):
        assert save(writing, ann, "Ein Hund").revision == 1
        assert save(writing, ann, "Ein Hund").revision == 1
        with pytest.raises(services.StaleDraftError) as stopped:
            save(writing, ann, "Eine Katze", revision=0)
        assert (stopped.value.item.text, stopped.value.item.revision) == ("Ein Hund", 1)

    def test_a_repeated_request_adds_no_time(self, writing, ann):
        later = NOW + MINUTE
        for _ in range(2):
            item = save(writing, ann, "Ein Hund", active_ms=30_000, now=later)
        assert item.writing_ms == 30_000

    def test_a_draft_after_the_lease_is_still_kept(self, writing, ann):
        save(writing, ann, "Ein später Satz", now=writing.lease.deadline + MINUTE)

        assert writing.items.get(position=1).text == "Ein später Satz"

    def test_typing_in_the_second_half_of_the_lease_renews_it(self, writing, ann):
        now = writing.lease.deadline - MINUTE
        save(writing, ann, "Ein Hund", now=now)

        assert Batch.objects.get().deadline == now + timedelta(seconds=writing.round.pool.lease_s)

    def test_what_cannot_be_stored_is_refused_and_a_returned_batch_takes_no_more(self, writing, ann):
        with pytest.raises(services.InvalidCaptionError):
            save(writing, ann, "null\x00 byte")
        services.return_batch(batch_id=writing.pk, person=ann, now=NOW)
        with pytest.raises(BatchReturnedError):
            save(writing, ann, "Ein Hund")


class TestHandingIn:
    def test_captions_are_kept_as_typed_and_in_nfc(self, writing, ann):
        write_all(writing, ann)
        save(writing, ann, " Ein Cafe\u0301 am Morgen ", revision=1)
        submit(writing, ann)

        caption = Caption.objects.get(item__position=1)
        assert caption.text_as_typed == " Ein Cafe\u0301 am Morgen "
        assert caption.text == "Ein Caf\u00e9 am Morgen"
        assert (caption.author, caption.guidelines_id, caption.state) == (ann, writing.guidelines_id, "counted")
        assert set(Assignment.objects.values_list("state", flat=True)) == {AssignmentState.DONE}

    def test_hidden_characters_go_after_a_warning(self, writing, ann):
        write_all(writing, ann)
        save(writing, ann, "Ein Hund\u202e am\u200b Strand\ufeff", revision=1)
        submit(writing, ann)

        caption = Caption.objects.get(item__position=1)
        assert caption.text == caption.text_as_typed == "Ein Hund am Strand"
        assert "hidden" in caption.warnings

    def test_sent_twice_it_is_one_and_takes_no_more_drafts(self, writing, ann):
        write_all(writing, ann)
        submit(writing, ann)
        submit(writing, ann)

        assert Caption.objects.count() == 3
        with pytest.raises(StaleStateError):
            save(writing, ann, "Nachtrag", revision=1)

    def test_missing_captions_are_named(self, writing, ann):
        save(writing, ann, "Ein Hund im Garten", position=2)

        with pytest.raises(services.IncompleteBatchError) as stopped:
            submit(writing, ann)
        assert set(stopped.value.problems) == {1, 3}
        assert Caption.objects.count() == 0

    def test_what_is_no_caption_is_not_submitted(self, writing, ann):
        write_all(writing, ann)
        for revision, text in enumerate(("", "   \n\t", "\u200b\u200e", "x" * 1001), start=1):
            save(writing, ann, text, revision=revision)
            with pytest.raises(services.IncompleteBatchError):
                submit(writing, ann)

    def test_who_withdrew_consent_or_left_submits_nothing(self, writing, ann):
        write_all(writing, ann)
        Consent.objects.filter(user=ann).update(withdrawn_at=NOW)
        with pytest.raises(NotQualifiedError, match="consent"):
            submit(writing, ann)
        Consent.objects.filter(user=ann).update(withdrawn_at=None)
        Membership.objects.filter(user=ann).delete()
        with pytest.raises(NotQualifiedError, match="not an annotator"):
            submit(writing, ann)
        assert Caption.objects.count() == 0

    def test_who_left_keeps_no_place_by_going_on_typing(self, writing, ann):
        deadline = writing.lease.deadline
        Membership.objects.filter(user=ann).delete()
        save(writing, ann, "Ein Hund", now=deadline - MINUTE)

        assert Batch.objects.get().deadline == deadline

    def test_the_warnings_that_were_overridden_are_recorded(self, writing, ann):
        write_all(writing, ann)
        save(writing, ann, "Hund", revision=1)
        submit(writing, ann)

        assert Caption.objects.get(item__position=1).warnings != []
        assert Caption.objects.get(item__position=2).warnings == []

    def test_late_captions_are_kept_flagged_and_not_counted(self, writing, ann, round):
        write_all(writing, ann)
        submit(writing, ann, now=writing.lease.deadline)

        assert set(Caption.objects.values_list("state", flat=True)) == {"late"}
        assert {task.places_taken for task in round.pool.tasks.all()} == {0}
        assert CaptionBatch.objects.get().stage == Stage.SUBMITTED

    def test_nobody_submits_another_ones_batch(self, writing, ann, round):
        write_all(writing, ann)
        with pytest.raises(CaptionBatch.DoesNotExist):
            submit(writing, make_annotator(round, "bob"))


class TestTakingUpAgain:
    def test_drafts_are_still_there(self, writing, ann):
        save(writing, ann, "Ein Hund im Garten")
        services.return_batch(batch_id=writing.pk, person=ann, now=NOW)
        services.resume_batch(batch_id=writing.pk, person=ann, now=NOW)

        assert writing.items.get(position=1).text == "Ein Hund im Garten"
        assert Batch.objects.get().state == BatchState.OPEN

    def test_only_what_is_still_free_is_submitted(self, round, ann):
        others = [make_annotator(round) for _ in range(2)]
        mine = open_writing(take(round, ann), ann)
        write_all(mine, ann)
        later = mine.lease.deadline
        theirs = [take(round, person, now=later) for person in others]
        for batch, person in zip(theirs, others, strict=True):
            open_writing(batch, person, now=later)
            write_all(batch, person, now=later)
            if person == others[0]:
                submit(batch, person, now=later)
        gone = theirs[1].items.get(position=1)
        services.return_batch(batch_id=theirs[1].pk, person=others[1], now=later)
        Assignment.objects.filter(pk=gone.pk).update(state=AssignmentState.DONE)
        gone.assignment.task.places_taken = 2
        gone.assignment.task.save()

        services.resume_batch(batch_id=mine.pk, person=ann, now=later)
        submit(mine, ann, now=later)

        assert Caption.objects.filter(author=ann).count() == 2
        assert not Caption.objects.filter(author=ann, image=gone.image_id).exists()

    def test_what_went_to_others_is_not_asked_for_when_it_expires_again(self):
        round = make_round(images=3, replication=1)
        slow, quick = make_annotator(round), make_annotator(round)
        mine = open_writing(take(round, slow), slow)
        later = mine.lease.deadline
        Pool.objects.filter(pk=round.pool_id).update(batch_size=1)
        take(round, quick, now=later)
        services.resume_batch(batch_id=mine.pk, person=slow, now=later)
        for item in items_of(mine):
            save(mine, slow, f"Das Bild mit der Nummer {item.position}", item.position, now=later)
        after = Batch.objects.get(pk=mine.pk).deadline

        submit(mine, slow, now=after)

        assert list(Caption.objects.filter(author=slow).values_list("state", flat=True)) == ["late", "late"]

    def test_a_submitted_batch_is_not_resumed(self, writing, ann):
        write_all(writing, ann)
        submit(writing, ann, now=writing.lease.deadline)
        with pytest.raises(StaleStateError):
            services.resume_batch(batch_id=writing.pk, person=ann, now=writing.lease.deadline)


class TestTheDatabaseSaysNeverToo:
    @pytest.mark.postgres
    @pytest.mark.parametrize(
        ("model", "values", "name"),
        [
            (CaptionBatch, {"stage": "elsewhere"}, "caption_batch_stage_known"),
            (CaptionBatch, {"stage": "rate"}, "caption_batch_writing_dated"),
            (CaptionBatch, {"stage": "submitted"}, "caption_batch_submission_dated"),
            (CaptionItem, {"rating": "SUPERB"}, "item_rating_known"),
        ],
    )
    def test_a_row_outside_its_range_is_refused(self, writing, model, values, name):
        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            model.objects.update(**values)

    @pytest.mark.postgres
    def test_an_empty_caption_is_refused(self, writing, ann):
        write_all(writing, ann)
        submit(writing, ann)
        with pytest.raises(IntegrityError, match="caption_not_empty"), transaction.atomic():
            Caption.objects.update(text="")

    @pytest.mark.postgres
    def test_a_second_round_of_the_same_name_and_an_image_twice_in_one_are_refused(self, round):
        with pytest.raises(IntegrityError), transaction.atomic():
            make_round(project=round.project)
        first, second = round.tasks.all()[:2]
        with pytest.raises(IntegrityError), transaction.atomic():
            type(first).objects.filter(pk=second.pk).update(image=first.image_id)
