"""Captions returned and written anew: when, by whom, what is kept, what the author sees, and the races."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from random import Random

import pytest
from django.urls import reverse

from annotation.models import (
    AnnotatorStatus,
    Caption,
    CaptionState,
    CorrectionRequest,
    Exclusion,
    Round,
    RoundState,
    Tally,
    VerificationTask,
)
from annotation.permissions import has_assigned_images
from annotation.services import batches, corrections
from annotation.services import verification as verifying
from annotation.services.feedback import FeedbackError, give_feedback
from core.people.models import AuditEntry, Consent, Membership, User
from tests.annotation.submitting import submit_captions
from tests.annotation.verifying import make_captioned_round, make_verification
from tests.clients import client_of
from tests.concurrency import together_with_errors
from tests.exported import export_address
from tests.factories import NOW, join_project, make_annotator, make_round
from tests.kept import kept
from tests.tiers import runs

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(hours=1)
OLD, NEW = "Ein Bild von etwas", "Zwei Boote liegen am Strand"
NOTE = "Say what the boats look like."


@kept
def written() -> tuple[Round, User]:
    round = make_round(images=2, replication=2)
    ann = make_annotator(round, "ann")
    submit_captions(round, ann, OLD)
    return round, ann


@pytest.fixture
def round(written) -> Round:
    return written[0]


@pytest.fixture
def ann(written) -> User:
    return written[1]


@pytest.fixture
def caption(written) -> Caption:
    return Caption.objects.order_by("item__position").first()


def return_for_correction(caption: Caption, note: str = NOTE) -> CorrectionRequest:
    by = caption.round.project.created_by
    return corrections.return_for_correction(caption_id=caption.pk, note=note, by=by, now=NOW)


def rewrite(caption: Caption, text: str = NEW, author: User | None = None) -> Caption:
    return corrections.rewrite(caption_id=caption.pk, author=author or caption.author, text=text, now=LATER)


def elsewhere_for(person: User, round: Round) -> Round:
    """A round of another project over the same images, where `person` writes, too."""
    elsewhere = make_round(collection=round.collection, replication=1)
    join_project(elsewhere.project, person)
    return elsewhere


class TestSendingBack:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_until_it_is_written_anew_it_keeps_its_place_and_does_not_count_and_then_it_does(self, round, caption):
        taken = caption.item.assignment.task.places_taken

        return_for_correction(caption)

        caption.refresh_from_db()
        assert caption.state == CaptionState.RETURNED
        assert Tally.objects.get(round=round).captions == 1
        assert caption.item.assignment.task.places_taken == taken == 1
        rewrite(caption, f"  {NEW}\u0308 ")

        caption.refresh_from_db()
        assert caption.state == CaptionState.COUNTED
        assert caption.text == "Zwei Boote liegen am Strand\u0308"
        assert caption.text_as_typed == "  Zwei Boote liegen am Strand\u0308 "
        assert caption.submitted_at == NOW
        assert Tally.objects.get(round=round).captions == 2

    def test_the_text_before_is_kept_with_the_note_and_the_log_is_without_the_words(self, caption, round, ann):
        sent = return_for_correction(caption)
        before = caption.text

        rewrite(caption)

        sent.refresh_from_db()
        assert (sent.text_before, sent.text_before_as_typed, sent.note) == (before, before, NOTE)
        assert sent.answered_at == LATER
        entry = AuditEntry.objects.get(action="caption.returned")
        assert (entry.by, entry.person) == (round.project.created_by, ann)
        assert caption.text not in str(entry.details)

    def test_the_hints_that_were_let_be_are_those_of_the_new_text(self, caption):
        Caption.objects.filter(pk=caption.pk).update(warnings=["repeated"])
        caption.refresh_from_db()
        sent = return_for_correction(caption)

        assert rewrite(caption, caption.item.english.text).warnings == ["copied"]
        assert sent.warnings_before == ["repeated"]

    def test_it_may_be_returned_again(self, caption):
        return_for_correction(caption)
        rewrite(caption)
        return_for_correction(caption, "And the sky?")
        rewrite(caption, "Zwei Boote liegen unter grauem Himmel")

        assert list(caption.corrections.values_list("note", "text_before")) == [
            (NOTE, caption.text),
            ("And the sky?", NEW),
        ]

    def test_without_a_note_it_is_not(self, caption):
        for note in ("", "  \n ", "x" * 5001, "a\x00b"):
            with pytest.raises(FeedbackError):
                return_for_correction(caption, note)
        assert not CorrectionRequest.objects.exists()

    def test_nor_where_the_round_was_decided_on(self, round, caption):
        for state in (RoundState.ACCEPTED, RoundState.REJECTED):
            Round.objects.filter(pk=round.pk).update(state=state, decided_at=NOW)
            with pytest.raises(corrections.CorrectionRequestError, match="decided"):
                return_for_correction(caption)

    def test_from_a_closed_round_it_is_and_may_be_written(self, round, caption):
        Round.objects.filter(pk=round.pk).update(state=RoundState.CLOSED)
        return_for_correction(caption)
        assert rewrite(caption).state == CaptionState.COUNTED

    def test_nor_where_it_does_not_count(self, caption):
        for state in ("late", "excluded", "withdrawn", "returned"):
            Caption.objects.filter(pk=caption.pk).update(state=state)
            with pytest.raises(corrections.CorrectionRequestError):
                return_for_correction(caption)

    def test_nor_once_others_rate_it(self):
        round, (author,) = make_captioned_round(images=2, captions=1)
        join_project(round.project, author)
        make_verification(round)

        with pytest.raises(corrections.CorrectionRequestError, match="rating"):
            return_for_correction(Caption.objects.first())

    def test_nor_where_it_came_from_a_file(self, round, caption):
        Caption.objects.filter(pk=caption.pk).update(item=None, author=None, position=1)
        with pytest.raises(corrections.CorrectionRequestError, match="file"):
            return_for_correction(caption)


def stop(reason: str, round: Round, person: User) -> None:
    about = {"project": round.project, "person": person, "language": round.language, "at": NOW}
    by = round.project.created_by
    {
        "paused": lambda: AnnotatorStatus.objects.create(state="paused", by=by, **about),
        "excluded": lambda: Exclusion.objects.create(reason="Copies.", by=by, **about),
        "role": lambda: Membership.objects.filter(user=person).delete(),
        "consent": lambda: Consent.objects.filter(user=person).update(withdrawn_at=LATER),
    }[reason]()


@pytest.mark.parametrize("reason", ["paused", "excluded", "role", "consent"])
class TestAuthorsWhoMayNotWrite:
    def test_nothing_is_returned_to_them(self, round, caption, ann, reason):
        stop(reason, round, ann)
        with pytest.raises(corrections.CorrectionRequestError):
            return_for_correction(caption)

    def test_nor_taken_from_them(self, round, caption, ann, reason):
        return_for_correction(caption)
        stop(reason, round, ann)

        with pytest.raises(corrections.RewriteRefusedError):
            rewrite(caption)

        caption.refresh_from_db()
        assert caption.state == CaptionState.RETURNED


def test_what_somebody_typed_who_may_not_write_stands_on_the_page(round, caption, ann):
    return_for_correction(caption)
    stop("paused", round, ann)

    page = client_of(ann).post(reverse("annotation:caption-rewrite", args=[caption.pk]), {"text": NEW})

    assert page.status_code == 409
    assert NEW in page.content.decode()


class TestThePage:
    @pytest.fixture
    def path(self, caption) -> str:
        return_for_correction(caption)
        return reverse("annotation:caption-rewrite", args=[caption.pk])

    def test_it_shows_all_but_the_english_caption_and_the_work_page_leads_there(self, path, caption, ann):
        page = client_of(ann).get(path)

        html = page.content.decode()
        assert NOTE in html
        assert caption.text in html
        assert "<img" in html
        assert caption.item.english.text not in html
        assert "no-store" in page["Cache-Control"]
        assert path in client_of(ann).get(reverse("annotation:work-show")).content.decode()

    def test_submitted_it_is_gone_and_a_second_tab_sees_what_is_stored_and_what_it_typed(self, path, ann, caption):
        client = client_of(ann)

        response = client.post(path, {"text": NEW})

        assert response["Location"] == reverse("annotation:work-show")
        assert path not in client.get(response["Location"]).content.decode()
        assert client.post(path, {"text": NEW}).status_code == 302
        page = client.post(path, {"text": "Zwei andere Boote im Wasser"})

        assert page.status_code == 409
        assert NEW in page.content.decode()
        assert "Zwei andere Boote im Wasser" in page.content.decode()
        caption.refresh_from_db()
        assert caption.text == NEW

    def test_what_cannot_be_a_caption_is_refused_and_stays(self, path, caption, ann):
        client = client_of(ann)
        for text in ("", "\u200b", "x" * 1001):
            page = client.post(path, {"text": text})
            assert page.status_code == 422
            assert f">{text}</textarea>" in page.content.decode()
        caption.refresh_from_db()
        assert caption.state == CaptionState.RETURNED

    def test_hints_are_said_once_and_let_be_the_second_time(self, path, caption, ann):
        client = client_of(ann)

        page = client.post(path, {"text": "Boote"}).content.decode()

        assert "fewer than three words" in page
        assert ">Boote</textarea>" in page
        assert client.post(path, {"text": "Boote", "seen": "short"}).status_code == 302
        caption.refresh_from_db()
        assert (caption.text, caption.warnings) == ("Boote", ["short"])

    def test_while_the_image_is_assigned_elsewhere_nothing_of_it_is_shown(self, caption, ann, round):
        batches.take_batch(round=elsewhere_for(ann, round), person=ann, now=NOW, rng=Random(0))
        return_for_correction(caption)
        path = reverse("annotation:caption-rewrite", args=[caption.pk])
        client = client_of(ann)

        page, answer = client.get(path), client.post(path, {"text": NEW})

        assert NOTE not in page.content.decode()
        assert caption.text not in page.content.decode()
        assert answer.status_code == 409
        assert NEW in answer.content.decode()

    def test_a_caption_that_was_never_returned_cannot_be_changed(self, path, caption, ann):
        other = Caption.objects.exclude(pk=caption.pk).get()
        there = reverse("annotation:caption-rewrite", args=[other.pk])
        assert client_of(ann).post(there, {"text": NEW}).status_code == 404


class TestUntilItIsWrittenAnew:
    """The author is at it, as on screen 2: what others say of the image waits."""

    @pytest.fixture
    def others(self, round, caption) -> Round:
        """Both captions of each image to be rated, save the one that was returned."""
        submit_captions(round, make_annotator(round, "bea"), "Was Bea schrieb")
        return_for_correction(caption)
        return make_verification(round)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_nobody_elses_caption_of_the_image_comes_to_its_author_to_rate(self, others, caption, ann):
        verdicts = verifying.take_batch(round=others, person=ann, now=NOW, rng=Random(0)).verdicts
        assert {verdict.caption.image_id for verdict in verdicts.all()}.isdisjoint({caption.image_id})
        assert verdicts.count() == 1

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_once_it_is_written_it_does(self, others, caption, ann):
        rewrite(caption)
        verdicts = verifying.take_batch(round=others, person=ann, now=NOW, rng=Random(0)).verdicts
        assert caption.image_id in {verdict.caption.image_id for verdict in verdicts.all()}

    def test_nor_the_image_with_its_english_caption_in_another_project(self, round, caption, ann):
        return_for_correction(caption)
        batch = batches.take_batch(round=elsewhere_for(ann, round), person=ann, now=NOW, rng=Random(0))
        assert caption.image_id not in set(batch.items.values_list("image", flat=True))

    def test_an_author_who_is_a_manager_too_looks_at_no_captions(self, round, caption, ann):
        Membership.objects.create(project=round.project, user=ann, role="manager")
        return_for_correction(caption)
        checks = reverse("annotation:check-show", args=[round.project.slug, round.language_id])
        export = export_address(round.project.slug, "captions")

        refused = [client_of(ann).get(path).status_code for path in (checks, export)]
        rewrite(caption)

        assert refused == [302, 422]
        assert [client_of(ann).get(path).status_code for path in (checks, export)] == [200, 200]

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("over", ["rejected", "gone"])
    def test_what_is_wanted_no_more_hides_nothing(self, round, caption, ann, over):
        return_for_correction(caption)
        assert has_assigned_images(ann, round.project)
        if over == "rejected":
            Round.objects.filter(pk=round.pk).update(state=RoundState.REJECTED, decided_at=NOW)
        else:
            Membership.objects.filter(user=ann).delete()
        assert not has_assigned_images(ann, round.project)

    def test_what_was_said_about_it_is_read_all_the_same(self, round, caption, ann):
        by = round.project.created_by
        give_feedback(round=round, person=ann, caption=caption, text="Look closer.", by=by, now=NOW)
        return_for_correction(caption)
        page = client_of(ann).get(reverse("annotation:feedback-list")).content.decode()
        assert "Look closer." in page


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
class TestRaces:
    @pytest.mark.parametrize("run", runs(3, short=1))
    def test_of_two_tabs_one_submits_and_the_other_is_told(self, caption, run):
        return_for_correction(caption)

        outcomes = together_with_errors(lambda text: rewrite(caption, text), [f"{NEW} {tab} {run}" for tab in range(3)])

        (won,) = (outcome for outcome in outcomes if isinstance(outcome, Caption))
        assert sum(isinstance(outcome, corrections.AlreadyRewrittenError) for outcome in outcomes) == 2
        caption.refresh_from_db()
        assert caption.text == won.text
        assert Tally.objects.get().captions == 2

    def test_control_without_the_lock_both_submit(self, caption):
        return_for_correction(caption)
        done, both_have_looked = [], threading.Barrier(2, timeout=60)

        def unless_written(text: str) -> None:
            if Caption.objects.get(pk=caption.pk).state == CaptionState.RETURNED:
                both_have_looked.wait()
                Caption.objects.filter(pk=caption.pk).update(text=text, state=CaptionState.COUNTED)
                done.append(text)

        together_with_errors(unless_written, ["Eins", "Zwei"])

        assert len(done) == 2

    @pytest.mark.parametrize("run", runs(4, short=1))
    def test_a_caption_is_returned_or_rated_never_both(self, run):
        round, authors = make_captioned_round(images=6, captions=1)
        for author in authors:
            join_project(round.project, author)
        Round.objects.filter(pk=round.pk).update(state=RoundState.CLOSED)
        rating = make_verification(round, filled=False)
        captions = list(Caption.objects.order_by("pk"))
        acts: list[Callable[[], object]] = [partial(return_for_correction, one) for one in captions]
        acts.insert(run * 2, partial(verifying.fill_verification, round_id=rating.pk))

        outcomes = together_with_errors(lambda act: act(), acts)

        unexpected = [
            one for one in outcomes if not isinstance(one, int | CorrectionRequest | corrections.CorrectionRequestError)
        ]
        assert not unexpected
        to_correct = set(Caption.objects.filter(state=CaptionState.RETURNED).values_list("pk", flat=True))
        rated = set(VerificationTask.objects.values_list("caption", flat=True))
        assert not to_correct & rated
        assert to_correct | rated == {caption.pk for caption in captions}

    def test_two_managers_send_it_back_once(self, caption):
        outcomes = together_with_errors(lambda note: return_for_correction(caption, note), ["One.", "Two.", "Three."])

        assert sum(isinstance(outcome, CorrectionRequest) for outcome in outcomes) == 1
        assert sum(isinstance(outcome, corrections.CorrectionRequestError) for outcome in outcomes) == 2
