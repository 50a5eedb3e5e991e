"""Starting runs and steering them: what is refused, whose the captions are, pause, resume, cancel and retry."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from research.inference.backends.captioners import Decoding, FailedImage
from research.inference.models import CaptioningModel, ModelCaption, Run, RunFailure, RunState
from research.inference.rules.runs import MAX_CHUNK_SIZE, MIN_CHUNK_SIZE, chunks_of, unpack_ids
from research.inference.services import runs, steering, worker_status
from research.inference.services.steering import WorkRefusedError
from tests.concurrency import together
from tests.factories import NOW, make_captioner, make_collection, make_image
from tests.inference import fake_backend
from tests.inference.fake_backend import FakeBackend
from tests.inference.fake_runs import (
    LATER,
    check_complete,
    counts,
    fake,  # noqa: F401 - for all tests here
    go,
    log_of,
    make_model,
    make_run,
    make_translated,
)
from tests.inference.watched import make_worker

pytestmark = pytest.mark.django_db


def refused(**about: object) -> str:
    with pytest.raises(WorkRefusedError) as reason:
        make_run(**about)  # type: ignore[arg-type]
    return str(reason.value)


def test_a_run_is_cut_up_so_that_even_a_small_collection_can_be_shared():
    run = make_run(20)

    assert (run.state, run.queue, counts(run)) == (RunState.QUEUED, "gpu", (40, 0, 0, 0))
    assert [len(unpack_ids(chunk.image_ids)) for chunk in run.chunks.all()] == [8, 8, 4]
    expected = list(run.collection.entries.order_by("position").values_list("image_id", flat=True))
    assert [one for chunk in run.chunks.all() for one in unpack_ids(chunk.image_ids)] == expected


@pytest.mark.parametrize("images", [1, 15, 129, 3600, 100_000])
def test_chunks_are_neither_too_small_for_a_batch_nor_too_large_to_share(images):
    sizes = [len(unpack_ids(chunk)) for chunk in chunks_of(range(images))]

    assert sum(sizes) == images
    assert all(MIN_CHUNK_SIZE <= size <= MAX_CHUNK_SIZE for size in sizes[:-1])
    assert max(sizes) <= MAX_CHUNK_SIZE


def test_a_language_that_the_model_has_no_code_for_is_refused_when_the_run_is_started():
    assert "no code for Cusco Quechua" in refused(languages=["de", "quz"])
    assert not Run.objects.exists()


def test_what_cannot_be_run_is_refused_with_what_to_do():
    imported = make_captioner(make_collection(1))
    assert "come from files" in refused(model=imported)
    assert "Import some" in refused(images=0, model=make_model("a"))
    assert "Choose a language" in refused(languages=[], model=make_model("b"))
    assert "There is no such model" in refused(model=make_model("c", source="nowhere"))
    other = CaptioningModel.objects.create(is_shared=True, name="d", backend="unheard-of")
    assert "No backend 'unheard-of'" in refused(model=other)
    assert not Run.objects.exists()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_running_again_makes_only_what_is_missing():
    first = go(make_run(10, languages=["de"]))
    again = make_run(first.collection, model=first.model, languages=["de", "fr"])
    assert counts(again) == (20, 10, 0, 0)

    check_complete(go(again))
    assert counts(again) == (20, 10, 10, 0)

    once_more = make_run(first.collection, model=first.model, languages=["de", "fr"])
    assert (once_more.state, counts(once_more), once_more.chunks.count()) == (RunState.DONE, (20, 20, 0, 0), 0)
    assert once_more.finished_at == NOW


def test_images_that_came_since_are_made_by_the_next_run():
    first = go(make_run(5))
    first.collection.entries.create(image=make_image(), key="new", position=99)

    check_complete(again := go(make_run(first.collection, model=first.model)))

    assert counts(again) == (12, 10, 2, 0)
    assert again.chunks.count() == 1


def test_the_first_run_says_how_the_model_decodes():
    run = make_run(decoding=Decoding(beams=5))

    run.model.refresh_from_db()
    assert run.model.decoding == run.decoding == Decoding(beams=5).stored()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_another_decoding_is_a_variant_with_captions_of_its_own():
    first = go(make_run(3, languages=["de"]))
    other = make_run(first.collection, model=first.model, languages=["de"], decoding=Decoding(beams=5, max_tokens=20))

    assert other.model.variant_of == first.model
    assert other.model.name == "Fake · beams 5, max tokens 20"
    assert (other.model.backend, other.model.options) == (first.model.backend, first.model.options)
    check_complete(go(other))
    assert counts(other) == (3, 0, 3, 0)
    assert ModelCaption.objects.count() == 6

    again = make_run(first.collection, model=other.model, languages=["fr"], decoding=Decoding())
    assert again.model == first.model, "a variant's variant is that of the first"
    same = make_run(first.collection, model=first.model, languages=["de"], decoding=Decoding(beams=5, max_tokens=20))
    assert (same.model, same.state) == (other.model, RunState.DONE)


def test_a_variant_has_the_name_that_is_given_unless_another_has_it():
    first = make_run(3)
    named = make_run(first.collection, model=first.model, decoding=Decoding(beams=2), name=" Fake, wide ")
    assert named.model.name == "Fake, wide"

    said = refused(images=first.collection, model=first.model, decoding=Decoding(beams=3), name="Fake, wide")
    assert "that no other model has" in said


def test_a_setting_that_came_later_does_not_make_a_variant_of_what_was_stored_without_it():
    model = make_model()
    stored = Decoding().stored()
    del stored["top_p"]
    CaptioningModel.objects.filter(pk=model.pk).update(decoding=stored)

    assert make_run(model=model).model == model


def test_consistent_decoding_is_only_of_models_that_have_stabilisers():
    assert make_run(model=make_model("a"), decoding=Decoding(is_consistent=True)).decoding["is_consistent"] is False
    pivot = make_run(model=make_model("b", is_pivot=True), decoding=Decoding(is_consistent=True))
    assert pivot.decoding["is_consistent"] is True


def test_the_same_captions_are_not_made_by_two_runs_at_once():
    first = make_run(3, languages=["de", "fr"])

    assert f"Run {first.pk} is already" in refused(images=first.collection, model=first.model, languages=["fr", "es"])
    assert make_run(first.collection, model=first.model, languages=["es"]).state == RunState.QUEUED

    steering.cancel(first, now=NOW)
    assert make_run(first.collection, model=first.model, languages=["fr"]).state == RunState.QUEUED


def test_a_translation_of_captions_that_are_not_there_is_refused_and_of_some_is_told():
    english = make_captioner(make_collection(0), name="English")
    model = make_translated(english)
    collection = make_collection(4)
    assert "has no English captions in this collection" in refused(images=collection, model=model, languages=["de"])

    entry = collection.entries.first()
    ModelCaption.objects.create(model=english, image=entry.image, language_id="en", text="a cat")
    run = make_run(collection, model=model, languages=["de"])
    assert (run.queue, "3 images have no English caption" in log_of(run)) == ("default", True)
    assert "no code for Spanish" in refused(images=collection, model=model, languages=["es"])


def test_pause_resume_and_cancel_come_from_the_states_they_make_sense_in():
    run = make_run()
    for step, state in ((steering.pause, "paused"), (steering.resume, "queued"), (steering.cancel, "cancelled")):
        step(run, now=NOW)
        assert run.state == state
    assert run.finished_at == NOW

    for step in (steering.pause, steering.resume, steering.cancel):
        with pytest.raises(WorkRefusedError, match="has changed in the meantime"):
            step(run, now=NOW)
    assert log_of(run).splitlines()[-3:] == ["Paused.", "Resumed.", "Cancelled."]


def test_a_run_that_failed_goes_on_once_it_is_resumed():
    model = make_model(source="broken")
    run = go(make_run(5, model=model))
    assert (run.state, run.error) == (RunState.FAILED, "Its weights are gone.")
    assert not run.chunks.exclude(state="queued", attempts=0).exists()

    CaptioningModel.objects.filter(pk=model.pk).update(source="")
    steering.resume(run, now=NOW)
    check_complete(go(run))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_failed_images_are_tried_again_and_counted_once(monkeypatch):
    run = make_run(20)
    unlucky = set(list(run.collection.images.order_by("pk").values_list("sha256", flat=True))[5:8])
    caption = fake_backend.FakeCaptioner.caption

    def with_bad_luck(self: fake_backend.FakeCaptioner, prepared: Sequence[object], **about: object) -> object:
        made = caption(self, prepared, **about)  # type: ignore[arg-type]
        is_bad = [key in unlucky and about["language"] == "fr" for key in about["keys"]]  # type: ignore[attr-defined]
        return [FailedImage("Bad luck.") if bad else one for bad, one in zip(is_bad, made, strict=True)]

    with monkeypatch.context() as patch:
        patch.setattr(fake_backend.FakeCaptioner, "caption", with_bad_luck)
        check_complete(go(run))
    assert counts(run) == (40, 0, 37, 3)
    assert "3 failed: Bad luck. (3)" in log_of(run)

    assert runs.retry(run=run, now=NOW) == 3
    assert (run.state, run.finished_at, counts(run)) == (RunState.QUEUED, None, (40, 0, 37, 0))
    assert run.chunks.filter(state="queued").count() == 1
    check_complete(go(run))
    assert counts(run) == (40, 0, 40, 0)
    assert not RunFailure.objects.exists()
    with pytest.raises(WorkRefusedError, match="No image has failed"):
        runs.retry(run=run, now=NOW)


def test_nothing_is_put_back_while_workers_are_at_it():
    with pytest.raises(WorkRefusedError, match="Workers are working on it"):
        runs.retry(run=make_run(), now=NOW)


def test_as_many_workers_are_told_as_there_are_and_have_something_to_do():
    run = make_run(20)
    for number, queues in enumerate(("gpu", "gpu", "default", "default,gpu"), start=1):
        worker_status.report_worker(worker=f"host:{number}", queues=queues.split(","), now=NOW)
    assert runs.workers_wanted(run=run, now=NOW) == 3
    assert runs.workers_wanted(run=make_run(1, model=make_model("small")), now=NOW) == 1
    assert runs.workers_wanted(run=run, now=LATER) == 1, "those who fell silent are not counted on"


def test_of_a_run_that_needs_pytorch_only_workers_that_have_it_are_told(monkeypatch):
    run = make_run(20)
    for number in (1, 2, 3):
        make_worker(f"host:{number}", queues="gpu", seen_at=NOW)
    assert runs.workers_wanted(run=run, now=NOW) == 3
    monkeypatch.setattr(FakeBackend, "needs", ("torch", "transformers"), raising=False)
    assert runs.workers_wanted(run=run, now=NOW) == 1, "who says what is missing"
    for number in (4, 5):
        make_worker(f"host:{number}", queues="gpu", seen_at=NOW, software="PyTorch 2.13.0")
    assert runs.workers_wanted(run=run, now=NOW) == 2


def test_a_run_is_told_of_again_only_after_a_while_and_only_where_something_is_to_do():
    run, paused = make_run(20), make_run(20, model=make_model("paused"))
    steering.pause(paused, now=NOW)

    assert runs.runs_waiting(now=NOW) == [(run.pk, "gpu", 1)]
    assert runs.runs_waiting(now=NOW) == []
    assert runs.runs_waiting(now=LATER) == [(run.pk, "gpu", 1)]
    go(run)
    assert runs.runs_waiting(now=LATER + (LATER - NOW)) == []


def test_a_run_whose_last_worker_went_before_closing_it_is_told_of():
    run = make_run(5)
    run.chunks.update(state="done")

    assert runs.workers_wanted(run=run, now=NOW) == 1
    assert go(run).state == RunState.DONE


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_two_who_start_with_the_same_new_decoding_both_get_one_variant():
    first = make_run(3)
    steering.cancel(first, now=NOW)

    def start(tag: str) -> int:
        return make_run(first.collection, model=first.model, languages=[tag], decoding=Decoding(beams=4)).model_id

    assert len(set(together(start, ["de", "fr"]))) == 1
    assert CaptioningModel.objects.filter(variant_of=first.model).count() == 1
