"""Passes: what is computed, in whose hands it is, and what is left of it after a worker was killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest

from core.jobs.models import JobState
from core.jobs.services import leases
from crosslens_metrics.java import ToolMissingError
from crosslens_metrics.reports.figures import MESSAGES
from crosslens_metrics.scoring import PreparedCaptions, ScoredFigure, score
from crosslens_metrics.undefined import UndefinedReason
from research.inference.models import ModelCaption
from research.scoring.models import Pass, Reference, ReferenceKind, Score, Scoring
from research.scoring.rules.packing import unpack_floats, unpack_integers
from research.scoring.services import scoring_passes
from research.scoring.services.references import put_references
from research.scoring.services.scorings import ask_again, delete_scoring
from tests.concurrency import together
from tests.factories import NOW, make_captioner, make_collection, make_vectors
from tests.scoring.scored import in_a_process, make_references, make_scoring, make_scorings, run, ticking, values_of

pytestmark = pytest.mark.django_db

FIGURES = ["bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider-d"]
LATER = NOW + 2 * leases.LEASE
Metric = Callable[[PreparedCaptions, str], list[ScoredFigure]]


def instead(monkeypatch: pytest.MonkeyPatch, metric: str, does: Callable[[], object]) -> None:
    """Have `does` called where `metric` would be computed."""
    scored: Metric = PreparedCaptions.scored

    def replaced(prepared: PreparedCaptions, name: str) -> list[ScoredFigure]:
        if name == metric:
            does()
        return scored(prepared, name)

    monkeypatch.setattr(PreparedCaptions, "scored", replaced)


def fail_with(error: BaseException) -> Callable[..., object]:
    def fail(*_arguments: object, **_about: object) -> object:
        raise error

    return fail


def before_keeping(monkeypatch: pytest.MonkeyPatch, does: Callable[[Pass], object]) -> None:
    """Have `does` called before the scores of a metric are kept."""
    kept = scoring_passes._keep

    def later(held: Pass, scores: list[Score], *, now: datetime) -> None:
        does(held)
        kept(held, scores, now=now)

    monkeypatch.setattr(scoring_passes, "_keep", later)


def test_a_pass_scores_every_metric_and_says_what_by():
    scored = run(make_scoring())

    assert (scored.state, scored.error, scored.total, scored.done) == (JobState.DONE, "", 3, 3)
    assert scored.lease_until is None
    assert scored.finished_at > NOW
    assert list(values_of(scored)) == FIGURES
    assert all(0 < value < 10 for value in values_of(scored).values())
    assert (scored.images, scored.left_out) == (3, 0)
    for kept in scored.scores.all():
        assert kept.signature.startswith(f"{kept.metric}|v:")
        assert len(unpack_floats(kept.values)) == len(unpack_integers(scored.image_ids)) == 3


def test_what_is_kept_is_what_the_metrics_give_for_the_same_texts():
    scoring = make_scoring(metrics=["cider"], normalise=False)
    scored = run(scoring)

    images = unpack_integers(scored.image_ids).tolist()
    said = dict(ModelCaption.objects.filter(model=scoring.model).values_list("image_id", "text"))
    references = [list(Reference.objects.filter(image=image).values_list("text", flat=True)) for image in images]
    (expected,) = score([said[image] for image in images], references, metrics=["cider"], normalise=False)
    (kept,) = scored.scores.all()
    assert kept.value == pytest.approx(expected.scores.corpus, abs=1e-12)
    assert unpack_floats(kept.values) == pytest.approx(expected.scores.per_image, abs=1e-12)
    assert kept.signature == str(expected.signature)


def test_only_images_with_a_caption_and_a_reference_are_scored_and_the_others_counted():
    references = make_references(collection=make_collection(images=5))
    scoring = make_scoring(references)
    first, second, *_others = ModelCaption.objects.filter(model=scoring.model).order_by("pk")
    first.delete()
    put_references(reference_set=references, captions={second.image_id: []}, now=NOW)

    scored = run(scoring)

    assert (scored.images, scored.left_out) == (3, 1)
    assert not {first.image_id, second.image_id} & set(unpack_integers(scored.image_ids).tolist())


def test_with_nothing_to_score_the_pass_says_what_is_missing():
    empty = make_references(collection=make_collection(images=0))
    no_references = run(make_scoring(empty))
    assert (no_references.state, "no reference caption" in no_references.error) == (JobState.FAILED, True)

    references = make_references()
    in_english = make_captioner(references.collection, language="en")
    no_captions = run(make_scoring(references, model=in_english))
    assert no_captions.state == JobState.FAILED
    assert f"“{in_english.name}” has no caption in German for any of the 3 images" in no_captions.error
    assert not Score.objects.exists()


def test_a_metric_that_cannot_be_computed_says_why_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr("crosslens_metrics.meteor.meteor", fail_with(ToolMissingError("There is no Java.")))
    scored = run(make_scoring(metrics=["meteor", "rouge-l"]))

    assert (scored.state, scored.done) == (JobState.DONE, 2)
    meteor, rouge_l = scored.scores.all()
    assert (meteor.metric, meteor.value, meteor.why_undefined) == ("meteor", None, "There is no Java.")
    assert (rouge_l.metric, rouge_l.why_undefined) == ("rouge-l", "")


def test_a_figure_that_is_undefined_says_why_in_the_words_of_pages():
    scored = run(make_scoring(make_references(texts=["…"]), metrics=["cider-d"]))
    assert scored.scores.get().why_undefined == str(MESSAGES[UndefinedReason.NO_WORDS])


def test_a_metric_that_nobody_foresaw_would_fail_does_not_take_the_others_with_it(monkeypatch):
    instead(monkeypatch, "bleu", fail_with(TypeError("a caption's words")))
    scored = run(make_scoring())

    assert (scored.state, list(values_of(scored))) == (JobState.DONE, FIGURES)
    bleu = scored.scores.get(metric="bleu-4")
    assert (bleu.value, "TypeError" in bleu.why_undefined, "words" in bleu.why_undefined) == (None, True, False)


def test_without_the_tokeniser_the_whole_pass_says_so(monkeypatch):
    monkeypatch.setattr(scoring_passes, "prepare", fail_with(ToolMissingError("No Java.")))
    scored = run(make_scoring(tokenizer="ptb"))

    assert (scored.state, scored.error) == (JobState.FAILED, "No Java.")
    assert not scored.scores.exists()


def test_word_vectors_are_named_in_the_signature_and_their_loss_is_told(tmp_path, settings):
    settings.VECTORS = str(tmp_path)
    vectors = make_vectors("de")
    references = make_references(texts=["dog sky"], kind=ReferenceKind.TRANSLATED)
    model = make_captioner(references.collection, text="cat tree", language="de")
    scoring = make_scoring(references, model=model, metrics=["rouge-l", "wmdrel"], vectors=vectors)

    _rouge_l, kept = run(scoring).scores.all()
    assert 0 < kept.value < 1
    assert f"vectors:{vectors.signature}" in kept.signature

    settings.VECTORS = str(tmp_path / "gone")
    ask_again(scoring=scoring, now=LATER)
    rouge_l, lost = run(scoring, at=LATER).scores.all()
    assert rouge_l.value is not None
    assert (lost.value, vectors.name in lost.why_undefined) == (None, True)


def test_the_lease_is_renewed_while_a_long_metric_is_computed(monkeypatch):
    monkeypatch.setattr(scoring_passes, "RENEW_EVERY_S", 0.01)
    leases: list[datetime] = []
    scoring = make_scoring(metrics=["rouge-l"])
    clock = ticking()

    def noting() -> datetime:
        leases.append(Pass.objects.get(scoring=scoring).lease_until)
        return clock()

    def long() -> None:
        until = time.monotonic() + 20
        while len(set(leases)) < 6 and time.monotonic() < until:
            time.sleep(0.01)

    instead(monkeypatch, "rouge-l", long)
    scoring_passes.run_pass(pass_id=scoring.passes.get().pk, clock=noting)

    assert len(set(leases)) >= 6
    assert scoring.passes.get().state == JobState.DONE


def test_whoever_lost_the_lease_keeps_nothing(monkeypatch):
    scoring_pass = make_scoring().passes.get()

    def take_over(held: Pass) -> None:
        if held.done == 1:
            Pass.objects.filter(pk=held.pk).update(lease_until=LATER)

    before_keeping(monkeypatch, take_over)
    scoring_passes.run_pass(pass_id=scoring_pass.pk, clock=ticking())

    scoring_pass.refresh_from_db()
    assert (scoring_pass.state, scoring_pass.done, scoring_pass.lease_until) == (JobState.RUNNING, 1, LATER)
    assert list(values_of(scoring_pass)) == FIGURES[:4]


def test_a_scoring_that_is_removed_ends_its_pass_without_a_word(monkeypatch):
    scoring = make_scoring()
    before_keeping(monkeypatch, lambda held: delete_scoring(scoring=Scoring.objects.get(pk=held.scoring_id)))
    scoring_passes.run_pass(pass_id=scoring.passes.get().pk, clock=ticking())
    assert not Scoring.objects.exists()
    assert not Score.objects.exists()


def broken_off(monkeypatch: pytest.MonkeyPatch, scoring: Scoring, *, at: str) -> Pass:
    """A pass whose worker went without a word when it began with metric `at`."""
    with monkeypatch.context() as killed:
        instead(killed, at, fail_with(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            scoring_passes.run_pass(pass_id=scoring.passes.first().pk, clock=ticking())
    return scoring.passes.first()


def check_that_the_successor_goes_on(scoring: Scoring, scoring_pass: Pass) -> None:
    """With the second of three metrics, once the lease has run out; what the first gave stays as it is."""
    before = list(scoring_pass.scores.values_list("pk", "created_at"))
    assert (scoring_pass.state, scoring_pass.done, len(before)) == (JobState.RUNNING, 1, 4)
    assert leases.rows_to_nudge(Pass.objects.all(), now=NOW) == []
    assert leases.rows_to_nudge(Pass.objects.all(), now=LATER) == [scoring_pass.pk]

    after = run(scoring, at=LATER)

    assert (after.pk, after.state, after.done) == (scoring_pass.pk, JobState.DONE, 3)
    assert list(values_of(after)) == FIGURES
    assert list(after.scores.values_list("pk", "created_at"))[:4] == before


def test_the_successor_goes_on_with_the_metric_at_hand(monkeypatch):
    scoring = make_scoring()
    scoring_pass = broken_off(monkeypatch, scoring, at="rouge-l")
    check_that_the_successor_goes_on(scoring, scoring_pass)


@pytest.mark.parametrize("what", ["captions", "references"])
def test_the_successor_begins_anew_where_captions_or_references_changed(monkeypatch, what):
    scoring = make_scoring()
    image = scoring.references.references.first().image_id
    scoring_pass = broken_off(monkeypatch, scoring, at="rouge-l")
    before = set(scoring_pass.scores.values_list("pk", flat=True))
    if what == "references":
        put_references(reference_set=scoring.references, captions={image: ["something else"]}, now=NOW)
    else:
        ModelCaption.objects.filter(model=scoring.model, image=image).delete()

    after = run(scoring, at=LATER)

    assert (after.pk, after.done, list(values_of(after))) == (scoring_pass.pk, 3, FIGURES)
    assert not before & set(after.scores.values_list("pk", flat=True))
    assert after.images == (3 if what == "references" else 2)


def test_a_metric_that_ends_every_worker_is_left_out_in_the_end(monkeypatch):
    scoring = make_scoring()
    scoring_pass = scoring.passes.get()
    instead(monkeypatch, "rouge-l", fail_with(KeyboardInterrupt()))
    for attempt in range(1, scoring_passes.SKIP_AFTER_ATTEMPTS + 1):
        # The first one did a metric, so that its start does not count.
        with pytest.raises(KeyboardInterrupt):
            scoring_passes.run_pass(pass_id=scoring_pass.pk, clock=ticking(NOW + attempt * 2 * leases.LEASE))
    with pytest.raises(KeyboardInterrupt):
        scoring_passes.run_pass(pass_id=scoring_pass.pk, clock=ticking(NOW + 50 * leases.LEASE))

    after = run(scoring, at=NOW + 100 * leases.LEASE)

    assert (after.state, after.done) == (JobState.DONE, 3)
    assert "every time" in after.scores.get(metric="rouge-l").why_undefined
    assert after.scores.get(metric="cider-d").value is not None


def test_a_pass_that_never_gets_anywhere_ends_as_failed():
    scoring = make_scoring()
    scoring.passes.update(attempts=scoring_passes.MAX_ATTEMPTS)

    scored = run(scoring)

    assert (scored.state, "crashed 6 times" in scored.error) == (JobState.FAILED, True)


def test_metrics_that_are_added_to_a_pass_that_runs_are_computed_by_it(monkeypatch):
    scoring = make_scoring(metrics=["rouge-l"])
    model, references = scoring.model, scoring.references
    monkeypatch.setattr(scoring_passes, "RENEW_EVERY_S", 1000.0)
    before_keeping(monkeypatch, lambda _held: make_scorings(references, [model], metrics=["rouge-l", "cider"]))
    scored = run(scoring)
    assert (scoring.passes.count(), scored.done, scored.total) == (1, 2, 2)
    assert list(values_of(scored)) == ["rouge-l", "cider"]


def claimed_without_a_lock(pass_id: int, all_have_looked: Barrier) -> bool:
    """As `claim` would be without its lock: looks first, writes afterwards."""
    scoring_pass = Pass.objects.get(pk=pass_id)
    is_free = scoring_pass.state == JobState.QUEUED
    all_have_looked.wait()
    if is_free:
        Pass.objects.filter(pk=pass_id).update(state=JobState.RUNNING)
    return is_free


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_several_workers_one_gets_a_pass():
    scoring_pass = make_scoring().passes.get()

    taken = together(lambda _: scoring_passes.claim(pass_id=scoring_pass.pk, now=NOW), range(4))

    assert sum(one is not None for one in taken) == 1
    scoring_pass.refresh_from_db()
    assert scoring_pass.attempts == 1

    Pass.objects.update(state=JobState.QUEUED)
    unlocked = partial(claimed_without_a_lock, all_have_looked=Barrier(4, timeout=60))
    assert sum(together(unlocked, [scoring_pass.pk] * 4)) > 1, "the control: nothing raced"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_several_who_ask_for_the_same_scores_all_get_one_scoring_with_one_pass():
    references = make_references()
    model = make_captioner(references.collection, language="de")

    together(lambda _: make_scoring(references, model=model).pk, range(4))

    assert (Scoring.objects.count(), Pass.objects.count()) == (1, 1)


@pytest.mark.process
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_worker_killed_in_the_middle_of_a_metric_leaves_what_was_done_to_its_successor(monkeypatch, tmp_path):
    scoring = make_scoring()
    scoring_pass = scoring.passes.get()
    begun = tmp_path / "begun"
    worker = in_a_process(lambda: run_until_it_hangs(monkeypatch, scoring_pass.pk, begun))
    try:
        until = time.monotonic() + 60
        while not begun.exists():
            assert time.monotonic() < until, "the worker never came to the second metric"
            assert os.waitpid(worker, os.WNOHANG) == (0, 0), "the worker ended by itself"
            time.sleep(0.02)
    finally:
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
    scoring_pass.refresh_from_db()
    check_that_the_successor_goes_on(scoring, scoring_pass)


def run_until_it_hangs(monkeypatch: pytest.MonkeyPatch, pass_id: int, begun: Path) -> None:
    def hang() -> None:
        begun.touch()
        time.sleep(600)

    instead(monkeypatch, "rouge-l", hang)
    scoring_passes.run_pass(pass_id=pass_id, clock=ticking())
