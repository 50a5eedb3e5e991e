"""Captions rated by others: who gets which, what is kept, and what counts."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from annotation.models import (
    Caption,
    CaptionState,
    Rating,
    Round,
    RoundFigures,
    RoundKind,
    RoundState,
    Tally,
    Verdict,
    VerificationTask,
)
from annotation.rules.sampling import draw_captions
from annotation.selectors.control_room import room_rows
from annotation.selectors.overview import project_progress
from annotation.services import batches, rounds
from annotation.services import verification as services
from annotation.services.round_batches import StaleStateError, UnratedImagesError
from core.allocation.models import Assignment, AssignmentState, BatchState, Task
from core.allocation.services.errors import (
    BatchReturnedError,
    LeaseExpiredError,
    NoTasksAvailableError,
    PoolClosedError,
)
from core.people.models import Consent, LanguageLevel, LanguageSkill, Membership, Role
from core.people.selectors.qualification import NotQualifiedError
from tests.annotation.verifying import (
    make_captioned_round,
    make_reviewer,
    make_verification,
    rate,
    rate_all,
    submit,
    take,
)
from tests.factories import MINUTE, NOW, join_project, make_annotator, make_project, make_round
from tests.kept import kept

pytestmark = pytest.mark.django_db
LEASE = timedelta(hours=24)


@kept
def written():
    return make_captioned_round(images=4, captions=2)


@pytest.fixture
def verified(written):
    return written[0]


@pytest.fixture
def round(verified):
    return make_verification(verified)


@pytest.fixture
def rae(round):
    return make_reviewer(round, "rae")


@pytest.fixture
def batch(round, rae):
    return take(round, rae)


def sampled(round):
    """The images' keys and texts in the sample."""
    keys = dict(round.collection.entries.values_list("image", "key"))
    tasks = VerificationTask.objects.filter(round=round).values_list("caption__image", "caption__text")
    return sorted((keys[image], text) for image, text in tasks)


# Drawing


CAPTIONS = {f"image-{n:03d}": [10 * n, 10 * n + 1] for n in range(200)}


def test_one_caption_of_each_drawn_image_is_drawn_and_the_seed_decides_which():
    drawn = {seed: draw_captions(CAPTIONS, seed=seed, size=60) for seed in (1, 2)}

    images = [one.caption // 10 for one in drawn[1]]
    assert len(images) == len(set(images)) == 60
    assert images == sorted(images)
    assert drawn[1] == draw_captions(dict(reversed(CAPTIONS.items())), seed=1, size=60)
    assert {one.caption for one in drawn[1]} != {one.caption for one in drawn[2]}
    assert {one.caption % 10 for one in drawn[1]} == {0, 1}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_every_image_and_every_caption_is_drawn_alike_often():
    drawn = [one.caption for seed in range(100) for one in draw_captions(CAPTIONS, seed=seed, size=20)]

    first = sum(caption < 1000 for caption in drawn) / len(drawn)
    even = sum(caption % 10 == 0 for caption in drawn) / len(drawn)

    assert first == pytest.approx(0.5, abs=0.03)
    assert even == pytest.approx(0.5, abs=0.03)


def test_what_was_drawn_before_stays_and_an_image_that_is_gone_is_replaced():
    before = {one.caption for one in draw_captions(CAPTIONS, seed=1, size=60)}
    gone = min(before)
    left = {key: [pk for pk in pks if pk // 10 != gone // 10] for key, pks in CAPTIONS.items()}

    after = {one.caption for one in draw_captions(left, seed=1, size=60, kept=before)}

    assert len(after) == 60
    assert before - after == {gone}


def test_without_a_size_every_caption_is_rated_and_a_size_above_the_images_takes_all_of_them():
    assert {one.caption for one in draw_captions(CAPTIONS, seed=1, size=None)} == {
        pk for pks in CAPTIONS.values() for pk in pks
    }
    assert len(draw_captions(CAPTIONS, seed=1, size=5000)) == 200


def test_a_pilot_has_all_its_captions_rated_by_three(verified, round):
    assert len(sampled(round)) == Caption.objects.filter(round=verified).count() == 8
    assert set(Task.objects.filter(pool=round.pool).values_list("places", flat=True)) == {3}
    figures = RoundFigures.objects.get(round=round)
    assert (figures.tasks, figures.wanted) == (8, 24)
    assert not round.awaits_tasks


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_same_data_give_the_same_sample_whatever_the_primary_keys(monkeypatch):
    # Two worlds alike but for their primary keys; the second one has its rows in another order, too.
    samples = []
    for _ in range(2):
        verified, _authors = make_captioned_round(images=30, captions=2)
        for entry in verified.collection.entries.all():
            entry.key = f"key-{entry.position:03d}"
            entry.save()
        samples.append(sampled(make_verification(verified, sample_size=10, seed=5)))

    assert samples[0] == samples[1]
    assert len(samples[0]) == 10


def test_it_is_drawn_in_pieces_and_drawing_again_adds_nothing(verified, monkeypatch):
    monkeypatch.setattr(rounds, "TASKS_PER_INSERT", 3)
    round = make_verification(verified)

    assert len(sampled(round)) == 8
    assert services.fill_verification(round_id=round.pk) == 0


def test_captions_that_do_not_count_are_not_drawn(verified):
    Caption.objects.filter(round=verified, text__endswith="Satz 0").update(state=CaptionState.EXCLUDED)

    assert all(text.endswith("Satz 1") for _, text in sampled(make_verification(verified)))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_ceases_to_count_makes_room_for_another_image_unless_somebody_had_it(written):
    verified, _authors = written
    round = make_verification(verified, sample_size=2, batch_size=1)
    had = take(round, make_reviewer(round)).verdicts.get().caption
    free = VerificationTask.objects.filter(round=round).exclude(caption=had).get().caption
    Caption.objects.filter(pk__in=[had.pk, free.pk]).update(state=CaptionState.EXCLUDED)

    assert services.fill_verification(round_id=round.pk) == 2

    kept = VerificationTask.objects.filter(round=round)
    assert not kept.filter(caption=free).exists()
    assert kept.get(caption=had).task.places == 1
    assert kept.filter(caption__state=CaptionState.COUNTED).count() == 2
    Caption.objects.filter(pk=had.pk).update(state=CaptionState.COUNTED)
    assert services.fill_verification(round_id=round.pk) == 0
    assert kept.get(caption=had).task.places == 3


def test_a_round_that_is_closed_keeps_the_sample_that_it_was_judged_by(verified, round):
    Round.objects.filter(pk=round.pk).update(state=RoundState.CLOSED)
    Caption.objects.filter(round=verified).update(state=CaptionState.EXCLUDED)

    services.fill_verification(round_id=round.pk)

    assert len(sampled(round)) == 8


# Who gets what


@pytest.mark.long(reason="at least three others run each of its lines")
def test_three_people_rate_each_caption_none_of_them_its_author(written, round):
    _verified, authors = written
    for author in authors:
        LanguageSkill.objects.create(user=author, language=round.language, level=LanguageLevel.FLUENT)
        join_project(round.project, author)
    others = [make_reviewer(round) for _ in range(2)]

    rated = {person.pk: rate_all(round, person) for person in (*authors, *others)}

    assert [rated[author.pk] for author in authors] == [4, 4]
    verdicts = Verdict.objects.filter(batch__round=round, assignment__state=AssignmentState.DONE)
    assert verdicts.count() == 24
    assert not any(verdict.person_id == verdict.caption.author_id for verdict in verdicts.select_related("caption"))
    assert take(round, make_reviewer(round)) is None


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.RATER])
def test_annotators_and_raters_of_the_language_may_rate_and_need_no_english(round, role):
    rater = make_reviewer(round, role=role)

    assert not rater.reads_english
    assert take(round, rater) is not None


@pytest.mark.long(reason="at least three others run each of its lines")
def test_who_lacks_the_role_the_language_or_the_consent_gets_nothing(round, rae):
    for change, code in (
        (lambda: Membership.objects.filter(user=rae).update(role=Role.PLAYER), "role"),
        (lambda: rae.language_skills.update(level=LanguageLevel.ADVANCED), "language"),
        (lambda: Consent.objects.filter(user=rae).update(withdrawn_at=NOW), "consent"),
    ):
        assert take(round, make_reviewer(round)) is not None
        change()
        with pytest.raises(NotQualifiedError) as stopped:
            take(round, rae)
        assert code in [missing_requirement.code for missing_requirement in stopped.value.missing_requirements]


@pytest.mark.parametrize("state", [RoundState.PLANNED, RoundState.CLOSED])
def test_only_an_open_round_hands_out(round, rae, state):
    decided = {"decided_at": NOW} if state in (RoundState.ACCEPTED, RoundState.REJECTED) else {}
    Round.objects.filter(pk=round.pk).update(state=state, **decided)

    with pytest.raises(PoolClosedError):
        take(round, rae)

    assert not Assignment.objects.filter(batch__pool=round.pool).exists()


def test_what_ceased_to_count_is_handed_to_nobody(verified, round, rae):
    Caption.objects.filter(round=verified).update(state=CaptionState.WITHDRAWN)

    assert take(round, rae) is None


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("is_same_project", [True, False])
def test_an_image_assigned_to_write_about_has_no_caption_to_rate(verified, round, is_same_project):
    project = round.project if is_same_project else make_project()
    other = make_round(
        project=project,
        collection=verified.collection,
        captioners=verified.captioners.all(),
        language="fr",
        batch_size=2,
    )
    writer = make_annotator(other)
    if not is_same_project:
        join_project(round.project, writer)
    LanguageSkill.objects.create(user=writer, language=round.language, level=LanguageLevel.NATIVE)
    assigned = batches.take_batch(round=other, person=writer, now=NOW, rng=Random(0))
    shown = set(assigned.items.values_list("image", flat=True))

    offered = take(round, writer)

    images = set(offered.verdicts.values_list("caption__image", flat=True))
    assert len(images) == 2
    assert not images & shown
    rate(offered, writer)
    submit(offered, writer)
    assert take(round, writer) is None


@pytest.mark.long(reason="at least three others run each of its lines")
def test_an_image_whose_caption_is_assigned_to_rate_is_not_handed_out_to_write_about(verified, round):
    other = make_round(
        project=make_project(), collection=verified.collection, captioners=verified.captioners.all(), language="de"
    )
    writer = make_annotator(other)
    join_project(round.project, writer)
    rating = take(round, writer)
    rated = set(rating.verdicts.values_list("caption__image", flat=True))

    writing = batches.take_batch(round=other, person=writer, now=NOW, rng=Random(0))

    offered = set(writing.items.values_list("image", flat=True)) if writing else set()
    assert not offered & rated
    assert len(offered) == 4 - len(rated)


# The life of a batch


def test_a_rating_may_be_changed_until_the_batch_is_submitted(batch, rae):
    who = {"batch_id": batch.pk, "person": rae, "position": 1}
    services.save_verdict(rating=Rating.GOOD, active_ms=4000, now=NOW + MINUTE, **who)
    services.save_verdict(rating=Rating.BAD, active_ms=3000, now=NOW + 2 * MINUTE, **who)
    verdict = batch.verdicts.get(position=1)
    assert (verdict.rating, verdict.rating_ms) == (Rating.BAD, 7000)
    rate(batch, rae)
    submit(batch, rae)

    with pytest.raises(StaleStateError):
        services.save_verdict(rating=Rating.BAD, active_ms=0, now=NOW, **who)
    assert batch.verdicts.get(position=1).rating == Rating.GOOD


def test_no_more_time_is_believed_than_the_clock_ran(batch, rae):
    who = {"batch_id": batch.pk, "person": rae, "position": 1, "rating": Rating.GOOD}
    services.save_verdict(active_ms=10**9, now=NOW + MINUTE, **who)
    services.save_verdict(active_ms=10**9, now=NOW + MINUTE, **who)

    assert batch.verdicts.get(position=1).rating_ms == 60_000


def test_all_must_be_rated_before_submitting(batch, rae):
    services.save_verdict(batch_id=batch.pk, person=rae, position=2, rating=Rating.GOOD, active_ms=0, now=NOW)

    with pytest.raises(UnratedImagesError) as stopped:
        submit(batch, rae)

    assert stopped.value.positions == [1, 3, 4, 5]


def test_submitting_twice_is_submitting_once(round, batch, rae):
    rate(batch, rae)

    first, second = submit(batch, rae), submit(batch, rae, NOW + MINUTE)

    assert first.submitted_at == second.submitted_at == NOW
    tally = Tally.objects.get(round=round, person=rae)
    assert (tally.batches, tally.captions, tally.ratings) == (1, 5, {"GOOD": 5})
    assert RoundFigures.objects.get(round=round).is_stale


def test_late_work_is_kept_told_and_never_counted(round, batch, rae):
    rate(batch, rae)
    late = NOW + LEASE
    with pytest.raises(LeaseExpiredError):
        services.save_verdict(batch_id=batch.pk, person=rae, position=1, rating=Rating.BAD, active_ms=0, now=late)
    assert batch.verdicts.get(position=1).rating == Rating.BAD
    submit(batch, rae, late)

    assert set(Assignment.objects.filter(batch=batch.pk).values_list("state", flat=True)) == {AssignmentState.LATE}
    assert not Task.objects.filter(pool=round.pool, places_taken__gt=0).exists()
    tally = Tally.objects.get(round=round, person=rae)
    assert (tally.captions, tally.late) == (0, 5)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_was_returned_is_resumed_as_far_as_it_is_free(round, batch, rae):
    rate(batch, rae)
    services.return_batch(batch_id=batch.pk, person=rae, now=NOW)
    with pytest.raises(BatchReturnedError):
        rate(batch, rae)
    gone = Assignment.objects.filter(batch=batch.pk, position=1).get().task
    Task.objects.filter(pk=gone.pk).update(places_taken=3)

    services.resume_batch(batch_id=batch.pk, person=rae, now=NOW + MINUTE)
    submit(batch, rae, NOW + MINUTE)

    assert Verdict.objects.filter(assignment__state=AssignmentState.DONE).count() == 4
    assert Tally.objects.get(round=round, person=rae).captions == 4


def test_nothing_is_resumed_once_the_round_is_closed(round, batch, rae):
    services.return_batch(batch_id=batch.pk, person=rae, now=NOW)
    Round.objects.filter(pk=round.pk).update(state=RoundState.CLOSED)

    with pytest.raises((PoolClosedError, NoTasksAvailableError)):
        services.resume_batch(batch_id=batch.pk, person=rae, now=NOW)

    batch.lease.refresh_from_db()
    assert batch.lease.state == BatchState.RETURNED


def test_a_save_in_the_second_half_of_the_time_begins_it_anew_but_not_without_consent(batch, rae):
    later = NOW + LEASE * 0.6
    rate(batch, rae, now=later)
    batch.lease.refresh_from_db()
    assert batch.lease.deadline == later + LEASE

    Consent.objects.filter(user=rae).update(withdrawn_at=NOW)
    rate(batch, rae, Rating.BAD, now=later + LEASE * 0.6)
    batch.lease.refresh_from_db()
    assert batch.lease.deadline == later + LEASE
    with pytest.raises(NotQualifiedError):
        submit(batch, rae, later + LEASE * 0.6)


def test_a_batch_is_its_raters_alone(round, batch):
    stranger = make_reviewer(round)

    for step in (
        lambda: rate(batch, stranger),
        lambda: submit(batch, stranger),
        lambda: services.return_batch(batch_id=batch.pk, person=stranger, now=NOW),
        lambda: services.resume_batch(batch_id=batch.pk, person=stranger, now=NOW),
    ):
        with pytest.raises(type(batch).DoesNotExist):
            step()


def test_batches_of_a_pilots_rating_are_unfinished_ones_of_the_pilot_too(round, batch):
    """A main round's rating is not waited for by it."""
    Round.objects.filter(pk=round.verifies_id).update(kind=RoundKind.PILOT)
    unfinished = {row.round: row.batches for row in room_rows(project_progress(round.project, now=NOW), now=NOW)}
    assert unfinished == {round.verifies: 1, round: 1}
    Round.objects.filter(pk=round.verifies_id).update(kind=RoundKind.MAIN)
    unfinished = {row.round: row.batches for row in room_rows(project_progress(round.project, now=NOW), now=NOW)}
    assert unfinished == {round.verifies: 0, round: 1}
