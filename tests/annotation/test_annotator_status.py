"""What a manager decides about somebody in a language, and that it can be undone."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from annotation.models import (
    AnnotatorState,
    AnnotatorStatus,
    Caption,
    CaptionItem,
    CaptionState,
    CorrectionRequest,
    Round,
    Tally,
    Verdict,
)
from annotation.services import annotator_status, batches, verification
from core.allocation.models import AssignmentState, BatchState, Task
from core.people.models import AuditEntry, Consent, Role, User
from core.people.selectors.qualification import NotQualifiedError
from tests.allocation.test_exact_replication import assert_exact
from tests.annotation import verifying
from tests.annotation.submitting import submit_captions, take, write
from tests.factories import NOW, make_annotator, make_language, make_round
from tests.kept import kept

pytestmark = pytest.mark.django_db


@kept
def round() -> Round:
    return make_round(images=4, replication=1, batch_size=2)


def about(round: Round, person: User) -> dict[str, Any]:
    who = {"project": round.project, "person": person, "language": round.language}
    return who | {"by": round.project.created_by, "now": NOW}


def exclude(round: Round, person: User):
    return annotator_status.exclude(reason="Machine-made.", **about(round, person))


def undo(exclusion) -> annotator_status.UndoneExclusion:
    return annotator_status.undo_exclusion(exclusion=exclusion, by=exclusion.by, now=NOW)


def states_of(round: Round, person: User) -> list[str]:
    return sorted(Caption.objects.filter(round=round, author=person).values_list("state", flat=True))


class TestPausing:
    def test_what_is_assigned_goes_back_with_its_drafts_and_what_was_submitted_counts(self, round, ann):
        submit_captions(round, ann)
        batch = take(round, ann)
        write(batch, ann, "Ein Bild davon")
        assert annotator_status.pause(reason="Too fast.", **about(round, ann)) == 1
        batch.lease.refresh_from_db()
        assert batch.lease.state == BatchState.RETURNED
        assert set(CaptionItem.objects.filter(batch=batch).values_list("text", flat=True)) == {
            "Ein Bild davon 1",
            "Ein Bild davon 2",
        }
        assert states_of(round, ann) == ["counted", "counted"]
        assert_exact(round.pool)

    def test_nothing_is_taken_or_resumed_before_it_is_lifted(self, round, ann):
        batch = take(round, ann)
        annotator_status.pause(reason="Too fast.", **about(round, ann))
        for again in (
            lambda: take(round, ann),
            lambda: batches.resume_batch(batch_id=batch.pk, person=ann, now=NOW),
        ):
            with pytest.raises(NotQualifiedError, match="A manager has paused your work in German"):
                again()
        annotator_status.undo_decision(**about(round, ann))
        assert batches.resume_batch(batch_id=batch.pk, person=ann, now=NOW).state == BatchState.OPEN

    def test_captions_to_rate_go_back_too(self):
        main, _authors = verifying.make_captioned_round()
        rating = verifying.make_verification(main)
        rater = verifying.make_reviewer(rating)
        batch = verifying.take(rating, rater)
        assert annotator_status.pause(reason="Too fast.", **about(main, rater)) == 1
        batch.lease.refresh_from_db()
        assert batch.lease.state == BatchState.RETURNED
        with pytest.raises(NotQualifiedError, match="paused"):
            verification.take_batch(round=rating, person=rater, now=NOW, rng=Random(0))

    def test_other_languages_go_on(self, round, ann):
        annotator_status.pause(reason="Too fast.", **(about(round, ann) | {"language": make_language("sw")}))
        assert take(round, ann)

    def test_lifting_a_pause_returns_what_was_before_it(self, round, ann):
        annotator_status.qualify(**about(round, ann))
        annotator_status.pause(reason="Too fast.", **about(round, ann))
        annotator_status.pause(reason="Much too fast.", **about(round, ann))
        annotator_status.undo_decision(**about(round, ann))
        assert AnnotatorStatus.objects.get().state == AnnotatorState.QUALIFIED
        annotator_status.undo_decision(**about(round, ann))
        assert not AnnotatorStatus.objects.exists()

    def test_a_pause_stands_in_the_log_without_a_name_and_ends_with_qualifying(self, round, ann):
        annotator_status.pause(reason="Too fast.", **about(round, ann))
        entry = AuditEntry.objects.get(action="annotator.paused")
        assert (entry.person, entry.about, entry.details) == (ann, "de", {"reason": "Too fast.", "batches": 0})
        annotator_status.qualify(**about(round, ann))
        assert AnnotatorStatus.objects.get().state == AnnotatorState.QUALIFIED
        assert take(round, ann)


class TestExcluding:
    def test_places_are_free_for_others_and_the_tally_forgets_what_does_not_count(self, round, ann):
        submit_captions(round, ann)
        open_batch = take(round, ann)
        exclusion = exclude(round, ann)
        assert exclusion.captions == 2
        assert states_of(round, ann) == ["excluded", "excluded"]
        assert Tally.objects.get(round=round, person=ann).captions == 0
        open_batch.lease.refresh_from_db()
        assert open_batch.lease.state == BatchState.RETURNED
        bob = make_annotator(round)
        submit_captions(round, bob)
        submit_captions(round, bob)
        assert Caption.objects.counted().filter(round=round).count() == 4
        with pytest.raises(NotQualifiedError, match="does not count for now"):
            take(round, ann)
        assert_exact(round.pool)

    def test_undone_what_nobody_else_wrote_counts_again_and_somebody_may_be_excluded_again(self, round, ann):
        submit_captions(round, ann)
        exclusion = exclude(round, ann)
        assert undo(exclusion) == annotator_status.UndoneExclusion(2, 0)
        assert states_of(round, ann) == ["counted", "counted"]
        assert Tally.objects.get(round=round, person=ann).captions == 2
        assert undo(exclusion) == annotator_status.UndoneExclusion(0, 0)
        assert_exact(round.pool)
        second = exclude(round, ann)
        assert (second.pk == exclusion.pk, second.captions) == (False, 2)
        assert exclude(round, ann) == second

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_what_others_wrote_since_stays_and_the_rest_is_said(self, round, ann):
        submit_captions(round, ann)
        submit_captions(round, ann)
        exclusion = exclude(round, ann)
        submit_captions(round, make_annotator(round))
        assert undo(exclusion) == annotator_status.UndoneExclusion(2, 2)
        assert states_of(round, ann) == ["counted", "counted", "excluded", "excluded"]
        assert_exact(round.pool)

    def test_a_caption_that_was_returned_is_returned_again_when_it_is_undone(self, round, ann):
        submit_captions(round, ann)
        caption = Caption.objects.filter(author=ann).first()
        Caption.objects.filter(pk=caption.pk).update(state=CaptionState.RETURNED)
        CorrectionRequest.objects.create(
            caption=caption, note="Who?", by=round.project.created_by, at=NOW, text_before="x"
        )
        undo(exclude(round, ann))
        assert states_of(round, ann) == ["counted", "returned"]

    @pytest.mark.parametrize("agreed_as", [Role.ANNOTATOR, Role.RATER])
    def test_the_place_of_a_returned_caption_is_free_for_others_if_its_author_no_longer_agrees_as_annotator(
        self, round, ann, agreed_as
    ):
        submit_captions(round, ann)
        caption = Caption.objects.filter(author=ann).first()
        Caption.objects.filter(pk=caption.pk).update(state=CaptionState.RETURNED)
        CorrectionRequest.objects.create(
            caption=caption, note="Who?", by=round.project.created_by, at=NOW, text_before="x"
        )
        exclusion = exclude(round, ann)
        Consent.objects.filter(user=ann).update(role=agreed_as)
        undo(exclusion)
        caption.refresh_from_db()
        assert (caption.item.assignment.state == AssignmentState.DONE) == (agreed_as == Role.ANNOTATOR)

    def test_a_late_caption_stays_late(self, round, ann):
        submit_captions(round, ann)
        Caption.objects.filter(author=ann).update(state=CaptionState.LATE)
        undo(exclude(round, ann))
        assert states_of(round, ann) == ["late", "late"]

    def test_what_was_withdrawn_with_consent_does_not_come_back(self, round, ann):
        submit_captions(round, ann)
        exclusion = exclude(round, ann)
        Caption.objects.filter(author=ann).update(state=CaptionState.WITHDRAWN)
        assert undo(exclusion).restored == 0
        assert states_of(round, ann) == ["withdrawn", "withdrawn"]
        assert_exact(round.pool)


class TestRatings:
    def rated(self) -> tuple[Round, Round, User]:
        main, _authors = verifying.make_captioned_round()
        rating = verifying.make_verification(main)
        rater = verifying.make_reviewer(rating)
        verifying.rate_all(rating, rater)
        return main, rating, rater

    def verdicts(self, rater: User) -> set[str]:
        return set(Verdict.objects.filter(person=rater).values_list("assignment__state", flat=True))

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_they_cease_to_count_and_count_again(self):
        main, rating, rater = self.rated()
        exclusion = exclude(main, rater)
        assert self.verdicts(rater) == {AssignmentState.REJECTED}
        assert Tally.objects.get(round=rating, person=rater).captions == 0
        undo(exclusion)
        assert self.verdicts(rater) == {AssignmentState.DONE}
        assert_exact(rating.pool)

    def test_those_of_who_withdrew_their_answers_since_do_not(self):
        main, _rating, rater = self.rated()
        exclusion = exclude(main, rater)
        Consent.objects.filter(user=rater).update(withdrawn_at=NOW, answers_kept=False)
        undo(exclusion)
        assert self.verdicts(rater) == {AssignmentState.REJECTED}

    def test_captions_that_ceased_to_count_are_looked_for_in_an_open_sample(self):
        main, authors = verifying.make_captioned_round()
        Task.objects.filter(pool=main.pool).update(places_taken=2)
        rating = verifying.make_verification(main)
        exclude(main, authors[0])
        rating.refresh_from_db()
        assert rating.awaits_tasks
