"""What workers do in a run: batches, memory, broken images, pauses, what is stored when, and whose the chunks are."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import translation
from PIL import Image as Pillow

from corpus.models import Image
from inference.backends.captioners import BackendDown, Decoding, Failed, OutOfMemory, Said
from inference.models import Chunk, ModelCaption, Run, RunState, Stabiliser
from inference.services import chunks, feeding, loading, running, runs
from inference.services.chunks import LEASE
from inference.services.feeding import THREADS
from inference.services.works import work_of
from tests.concurrency import together
from tests.factories import NOW, make_captioner, make_collection, make_user
from tests.inference.fake_backend import FakeCaptioner
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
    store_picture,
)


def before(monkeypatch: pytest.MonkeyPatch, does: Callable[[Sequence[str], str], object]) -> None:
    """Have `does` called with the keys and the language of each batch that reaches the model."""
    monkeypatch.setattr(FakeCaptioner, "before", staticmethod(does))


def key_of(run: Run, position: int) -> str:
    return str(run.collection.entries.get(position=position).image.sha256)


@pytest.mark.django_db
def test_a_run_is_done_with_every_caption_once_and_its_log_says_how():
    run = go(make_run(20))

    check_complete(run)
    assert counts(run) == (40, 0, 40, 0)
    caption = ModelCaption.objects.filter(language="fr").first()
    assert caption.text == f"fr caption of {caption.image.sha256[:8]}"
    assert (run.started_at, run.finished_at) == (NOW, NOW)
    assert "Model ready after 0.0 s. model: fake; device: none" in log_of(run)
    assert log_of(run).endswith("Done: 40 made, 0 there already, 0 failed.")
    assert caption.text not in log_of(run)


@pytest.mark.django_db
def test_batches_are_as_large_as_the_model_wants_them(monkeypatch):
    sizes: list[int] = []
    before(monkeypatch, lambda keys, _language: sizes.append(len(keys)))
    run = go(make_run(20, model=make_model(batch_size=6), languages=["de"]))

    assert sizes == [6, 2, 6, 2, 4]
    assert run.batch_size == 6


@pytest.mark.django_db
def test_where_memory_runs_out_batches_are_halved_and_the_log_says_so(monkeypatch):
    sizes: list[int] = []
    before(monkeypatch, lambda keys, _language: sizes.append(len(keys)))
    run = go(make_run(20, model=make_model(batch_size=8, fits=3)))

    check_complete(run)
    assert (counts(run), run.batch_size) == ((40, 0, 40, 0), 2)
    assert max(sizes) <= 3
    assert log_of(run).count("Memory ran out") == 1
    assert "batches have 2 images" in log_of(run)


@pytest.mark.django_db
def test_an_image_for_which_memory_never_suffices_fails_alone(monkeypatch):
    run = make_run(3, model=make_model(batch_size=2), languages=["de"])
    culprit = key_of(run, 2)

    def too_large(keys: Sequence[str], _language: str) -> None:
        if culprit in keys:
            raise OutOfMemory

    before(monkeypatch, too_large)
    check_complete(go(run))
    assert counts(run) == (3, 0, 2, 1)
    assert set(run.failures.values_list("reason", flat=True)) == {"Memory ran out with this image alone."}


@pytest.mark.django_db
def test_an_image_that_the_model_breaks_on_fails_alone(monkeypatch):
    run = make_run(20, model=make_model(batch_size=8))
    culprit = key_of(run, 6)

    def break_on(keys: Sequence[str], _language: str) -> None:
        if culprit in keys:
            raise RuntimeError("what the picture shows must not be told")

    before(monkeypatch, break_on)
    check_complete(go(run))

    assert counts(run) == (40, 0, 38, 2)
    assert set(run.failures.values_list("image__sha256", "reason")) == {
        (culprit, "The model failed with it (RuntimeError).")
    }
    assert "must not be told" not in log_of(run)


@pytest.mark.django_db
@pytest.mark.parametrize("images", [1, 5, 30])
def test_where_the_model_breaks_on_every_image_the_run_fails_and_no_image_does(monkeypatch, images):
    def break_down(_keys: Sequence[str], _language: str) -> None:
        raise ConnectionError

    with monkeypatch.context() as patch:
        before(patch, break_down)
        run = go(make_run(images))
    assert (run.state, "with each image" in run.error) == (RunState.FAILED, True)
    assert "(ConnectionError)" in run.error
    assert (counts(run)[2:], run.failures.count()) == ((0, 0), 0)

    runs.resume(run=run, now=NOW)
    check_complete(go(run))


@pytest.mark.django_db
def test_a_backend_that_is_down_ends_the_run_at_once_and_keeps_what_was_made(monkeypatch):
    run = make_run(20, languages=["de"])
    last = key_of(run, 20)

    def go_down(keys: Sequence[str], _language: str) -> None:
        if last in keys:
            raise BackendDown("The endpoint does not answer.")

    with monkeypatch.context() as patch:
        before(patch, go_down)
        go(run)
    assert (run.state, run.error) == (RunState.FAILED, "The endpoint does not answer.")
    assert (counts(run)[2], run.failures.count()) == (16, 0)
    assert not Chunk.objects.filter(state="running").exists()

    runs.resume(run=run, now=NOW)
    check_complete(go(run))


@pytest.mark.django_db
def test_what_is_no_caption_fails_with_the_reason_and_is_not_repeated(monkeypatch):
    said = iter(["", " fine ", "a\0b", "long " * 1000, "ﬁne"])
    monkeypatch.setattr(
        FakeCaptioner, "caption", lambda _self, prepared, **_about: [Said(next(said)) for _one in prepared]
    )
    run = go(make_run(5, languages=["de"]))

    check_complete(run)
    assert set(run.captions.values_list("text", flat=True)) == {"fine", "ﬁne"}
    reasons = "\n".join(run.failures.values_list("reason", flat=True))
    assert "empty" in reasons
    assert "not valid" in reasons
    assert "5000 characters" in reasons.replace("4999", "5000")


@pytest.mark.django_db
def test_a_backend_that_gives_too_few_captions_breaks_and_none_goes_to_another_image(monkeypatch):
    monkeypatch.setattr(
        FakeCaptioner, "caption", lambda _self, prepared, *, keys, **_about: [Said(key) for key in keys[1:]]
    )
    run = go(make_run(5, languages=["de"]))

    assert (run.state, counts(run)) == (RunState.FAILED, (5, 0, 0, 0))
    assert not ModelCaption.objects.exists()


@pytest.mark.django_db
def test_a_picture_that_cannot_be_read_fails_alone_in_every_language(media):
    run = make_run(4, model=make_model(side=32))
    gone, broken, *fine = Image.objects.filter(collections=run.collection).order_by("pk")
    store_picture(broken, b"no picture")
    for image in fine:
        store_picture(image)

    check_complete(go(run))

    assert counts(run) == (8, 0, 4, 4)
    reasons = dict(run.failures.filter(language="de").values_list("image_id", "reason"))
    assert reasons == {
        gone.pk: "Its file is gone from storage.",
        broken.pk: "It cannot be read as a picture (UnidentifiedImageError).",
    }


@pytest.mark.django_db
def test_the_model_sees_pictures_upright_in_colour_and_no_larger_than_it_wants(media, monkeypatch):
    run = make_run(2, model=make_model(side=50), languages=["de"])
    sideways, transparent = Image.objects.filter(collections=run.collection).order_by("pk")
    exif = Pillow.Exif()
    exif[0x0112] = 6
    for image, made, form in (
        (sideways, Pillow.new("RGB", (400, 200), "red"), "JPEG"),
        (transparent, Pillow.new("RGBA", (30, 60), (0, 0, 0, 0)), "PNG"),
    ):
        file = io.BytesIO()
        made.save(file, form, **({"exif": exif} if form == "JPEG" else {}))
        store_picture(image, file.getvalue())
    seen: dict[tuple[int, int], Pillow.Image] = {}
    monkeypatch.setattr(FakeCaptioner, "prepare", lambda _self, image: seen.update({image.size: image}))

    check_complete(go(run))

    assert sorted(seen) == [(30, 60), (50, 100)]
    assert {image.mode for image in seen.values()} == {"RGB"}
    assert seen[(30, 60)].getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.django_db
def test_a_picture_that_the_model_cannot_take_fails_alone(media, monkeypatch):
    run = make_run(10, model=make_model(side=8), languages=["de"])
    images = list(Image.objects.filter(collections=run.collection).order_by("pk"))
    for number, image in enumerate(images):
        file = io.BytesIO()
        Pillow.new("RGB", (8, 8 if number else 1)).save(file, "PNG")
        store_picture(image, file.getvalue())

    def prepare(_self: FakeCaptioner, picture: Pillow.Image) -> None:
        if picture.height < 8:
            raise ValueError("mean must have 1 elements")

    monkeypatch.setattr(FakeCaptioner, "prepare", prepare)
    check_complete(go(run))

    assert list(run.failures.values_list("image_id", "reason")) == [
        (images[0].pk, "The model cannot take it (ValueError).")
    ]


@pytest.mark.django_db
def test_pictures_are_prepared_ahead_of_the_device_but_never_all_of_them(monkeypatch):
    run = make_run(200, model=make_model(batch_size=4), languages=["de"])
    prepared: list[int] = []
    ahead: list[int] = []
    monkeypatch.setattr(FakeCaptioner, "prepare", lambda _self, _image: prepared.append(1))
    computed: list[int] = []

    def note(keys: Sequence[str], _language: str) -> None:
        time.sleep(0.002)  # what a device takes
        computed.extend(1 for _key in keys)
        ahead.append(len(prepared) - len(computed))

    before(monkeypatch, note)
    check_complete(go(run))

    most = (feeding.GROUPS_AHEAD + 2) * 4
    assert 4 <= max(ahead) <= most < 200
    assert sum(one >= 4 for one in ahead) > len(ahead) / 2, "the next batch is ready when one is done"


@pytest.mark.django_db
def test_large_pictures_are_read_one_at_a_time(monkeypatch, media):
    run = make_run(6, model=make_model(side=8), languages=["de"])
    Image.objects.update(width=8000, height=8000)
    for image in Image.objects.all():
        store_picture(image)
    at_once: list[int] = []
    reading: list[int] = []

    def slowly(file: Any, *, side: int | None) -> Pillow.Image:
        reading.append(1)
        at_once.append(len(reading))
        time.sleep(0.02)
        reading.pop()
        return Pillow.new("RGB", (8, 8))

    monkeypatch.setattr("inference.services.pictures.upright", slowly)
    monkeypatch.setattr(feeding, "THREADS", max(THREADS, 4))
    check_complete(go(run))
    assert max(at_once) == 1

    Image.objects.update(width=800, height=800)
    at_once.clear()
    check_complete(go(make_run(run.collection, model=run.model, languages=["fr"])))
    assert len(at_once) == 6


@pytest.mark.django_db
def test_pausing_takes_effect_within_a_batch_and_what_was_computed_is_kept(monkeypatch):
    monkeypatch.setattr(running, "KEEP_EVERY_S", 0.0)
    run = make_run(40, model=make_model(batch_size=4), languages=["de"])
    batches: list[int] = []
    paused_at: list[int] = []
    stored = running._Shift._store_once

    def pause_after_the_third(shift: Any, held: Any, made: Any, **about: Any) -> Any:
        answer = stored(shift, held, made, **about)
        if not paused_at and len(ModelCaption.objects.all()) >= 12:
            runs.pause(run=run, now=NOW)
            paused_at.append(len(batches))
        return answer

    before(monkeypatch, lambda keys, _language: batches.append(len(keys)))
    monkeypatch.setattr(running._Shift, "_store_once", pause_after_the_third)
    go(run)

    assert run.state == RunState.PAUSED
    assert len(batches) <= paused_at[0] + 2, "the batch at hand, and the one that the device was given with it"
    assert counts(run)[2] == sum(batches) == ModelCaption.objects.count()
    assert not run.chunks.filter(state="running").exists()
    assert set(run.chunks.values_list("attempts", "holder")) == {(0, "")}
    assert go(run).state == RunState.PAUSED

    runs.resume(run=run, now=NOW)
    check_complete(go(run))


@pytest.mark.django_db
def test_a_worker_ends_after_its_slice_and_is_told_that_there_is_more():
    run = make_run(40, languages=["de"])

    assert running.work_on(run_id=run.pk, work_of=work_of, worker="w", clock=lambda: NOW, slice_s=0.0)
    assert not run.chunks.filter(state="running").exists()
    check_complete(go(run))


@pytest.mark.django_db
def test_the_model_stays_loaded_for_the_next_slice(monkeypatch):
    loaded: list[int] = []
    init = FakeCaptioner.__init__

    def counted(self: FakeCaptioner, spec: Any) -> None:
        loaded.append(1)
        init(self, spec)

    monkeypatch.setattr(FakeCaptioner, "__init__", counted)
    run = make_run(20)
    for _ in range(3):
        running.work_on(run_id=run.pk, work_of=work_of, worker="one:1", clock=lambda: NOW, slice_s=0.0)
    go(run)

    assert len(loaded) == 1
    assert log_of(run).count("Model ready") == 1


@pytest.mark.django_db
def test_the_leases_are_renewed_while_the_device_computes(monkeypatch):
    monkeypatch.setattr(chunks, "RENEW_EVERY_S", 0.01)
    monkeypatch.setattr(running, "KEEP_EVERY_S", 0.01)
    run = make_run(3, languages=["de"])
    leases: set[Any] = set()

    def noting() -> Any:
        leases.add(run.chunks.get().lease_until)
        return NOW

    def take_long(_keys: Sequence[str], _language: str) -> None:
        until = time.monotonic() + 10
        while len(leases) < 5 and time.monotonic() < until:
            time.sleep(0.01)

    before(monkeypatch, take_long)
    running.work_on(run_id=run.pk, work_of=work_of, worker="one:1", clock=noting)

    assert len(leases) >= 5
    check_complete(run)


@pytest.mark.django_db
def test_the_lease_of_a_chunk_that_waits_is_renewed_while_small_batches_of_another_are_stored(monkeypatch):
    monkeypatch.setattr(chunks, "RENEW_EVERY_S", 0.0)
    run = make_run(16, model=make_model(batch_size=8), languages=["de", "fr", "es", "it", "pt"])
    waiting: list[Any] = []

    def noting() -> Any:
        waiting.append(run.chunks.get(position=2).lease_until)
        return NOW

    running.work_on(run_id=run.pk, work_of=work_of, worker="one:1", clock=noting)

    check_complete(run)
    assert len({lease for lease in waiting if lease}) >= 8


@pytest.mark.django_db
def test_a_lapsed_chunk_is_taken_up_where_it_was_and_the_log_says_from_whom():
    run = make_run(16, languages=["de"])
    _chunk, silent = chunks.claim(run_id=run.pk, worker="gone:1", now=NOW)
    assert silent == ""
    go(run, at=NOW)
    assert (run.state, counts(run)[2]) == (RunState.RUNNING, 8), "the other one's chunk is left alone"

    check_complete(go(run, at=NOW + LEASE))
    assert "Took over from gone:1, which fell silent." in log_of(run)


@pytest.mark.django_db
def test_who_lost_the_lease_stores_nothing_and_counts_nothing(monkeypatch):
    run = make_run(8, model=make_model(batch_size=8), languages=["de"])
    stored = running._Shift._store_once

    def after_it_was_taken_over(shift: Any, held: Any, made: Any, **about: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(running._Shift, "_store_once", stored)
            go(run, at=LATER, worker="two:2")
        return stored(shift, held, made, **about)

    monkeypatch.setattr(running._Shift, "_store_once", after_it_was_taken_over)
    go(run)

    check_complete(run)
    assert counts(run) == (8, 0, 8, 0)


def stored_without_a_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it would be if nobody looked whose chunk it is, and captions that are there were left as they are."""
    monkeypatch.setattr(chunks, "stored", lambda chunk, *, now, is_whole: None)
    monkeypatch.setattr("inference.services.captioning.keep_captions", lambda _model, _run, made, *, now: len(made))


@pytest.mark.django_db
def test_the_control_without_leases_captions_are_counted_twice(monkeypatch):
    run = make_run(8, model=make_model(batch_size=8), languages=["de"])
    Run.objects.filter(pk=run.pk).update(total=16)
    stored_without_a_lease(monkeypatch)
    stored = running._Shift._store_once

    def after_it_was_taken_over(shift: Any, held: Any, made: Any, **about: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(running._Shift, "_store_once", stored)
            go(run, at=LATER, worker="two:2")
        return stored(shift, held, made, **about)

    monkeypatch.setattr(running._Shift, "_store_once", after_it_was_taken_over)
    go(run)

    assert counts(run)[2] == 16


def each_with_a_model_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As workers have, which are processes and not threads."""
    monkeypatch.setattr(loading, "captioner", lambda model: FakeCaptioner(loading.spec_of(model)))


@pytest.mark.django_db(transaction=True)
def test_several_workers_share_a_run_and_make_nothing_twice(monkeypatch):
    each_with_a_model_of_its_own(monkeypatch)
    run = make_run(120, model=make_model(sleep_s=0.001), languages=["de", "fr"])

    def work(worker: str) -> None:
        running.work_on(run_id=run.pk, work_of=work_of, worker=worker, clock=lambda: NOW)

    together(work, ["a:1", "b:2", "c:3"])

    check_complete(run)
    assert counts(run) == (240, 0, 240, 0)
    assert run.events.filter(message__startswith="Model ready").values("worker").distinct().count() > 1


@pytest.mark.django_db(transaction=True)
def test_of_several_workers_one_gets_a_chunk():
    run = make_run(20)

    taken = together(lambda name: chunks.claim(run_id=run.pk, worker=name, now=NOW), ["a:1", "b:2", "c:3", "d:4"])

    positions = [claimed[0].position for claimed in taken if claimed]
    assert sorted(positions) == sorted(set(positions))
    # Whoever comes at the moment at which another takes one may be sent away; none is given to two.
    assert 1 <= len(positions) <= 3


@pytest.mark.django_db(transaction=True)
def test_two_runs_that_make_the_same_captions_at_once_keep_one_of_each(monkeypatch):
    each_with_a_model_of_its_own(monkeypatch)
    collection, model = make_collection(60), make_model(sleep_s=0.001)
    first = make_run(collection, model=model, languages=["de", "fr"])
    Run.objects.filter(pk=first.pk).update(state="paused")
    second = runs.start(
        model=model,
        collection=make_copy(collection),
        languages=list(first.languages.all()),
        decoding=Decoding(),
        by=None,
        now=NOW,
    )
    Run.objects.filter(pk=first.pk).update(state="queued")

    def work(run: Run) -> None:
        running.work_on(run_id=run.pk, work_of=work_of, worker=f"w:{run.pk}", clock=lambda: NOW)

    together(work, [first, second])

    for run in (first, second):
        check_complete(run)
    assert first.done + second.done == 120 == ModelCaption.objects.count()
    assert first.already + second.already == 120


def make_copy(collection: Any) -> Any:
    copy = make_collection(0)
    for entry in collection.entries.all():
        copy.entries.create(image=entry.image, key=entry.key, position=entry.position)
    return copy


@pytest.mark.django_db
def test_what_another_run_made_meanwhile_is_counted_as_there_already():
    run = make_run(10, languages=["de"])
    image = run.collection.images.order_by("pk").first()
    ModelCaption.objects.create(model=run.model, image=image, language_id="de", text="made elsewhere")

    check_complete(go(run))
    assert counts(run) == (10, 1, 9, 0)


@pytest.mark.django_db
def test_an_image_that_ends_every_worker_is_left_out_in_the_end(monkeypatch):
    run = make_run(8, model=make_model(batch_size=4), languages=["de"])
    killer = key_of(run, 3)

    class Killed(BaseException):
        """As far as this process goes, what a killed one does: nothing is given back."""

    def kill(keys: Sequence[str], _language: str) -> None:
        if killer in keys:
            raise Killed

    before(monkeypatch, kill)
    monkeypatch.setattr(chunks, "release", lambda chunk: None)
    at = NOW
    for _ in range(20):
        try:
            go(run, at=at)
        except Killed:
            at += 2 * LEASE
            continue
        break

    check_complete(run)
    assert counts(run) == (8, 0, 7, 1)
    assert run.failures.get().image.sha256 == killer
    assert "stopped each time" in run.failures.get().reason


@pytest.mark.django_db
def test_a_model_that_wants_no_pixels_is_shown_none(monkeypatch):
    monkeypatch.setattr("inference.services.feeding.picture_of", pytest.fail)
    check_complete(go(make_run(5)))


@pytest.mark.django_db
def test_stabilisers_are_made_once_per_image_and_held_for_every_language(monkeypatch):
    made: list[str] = []
    stabilise = FakeCaptioner.stabilise

    def counted(self: FakeCaptioner, prepared: Any, *, keys: Sequence[str], decoding: Decoding) -> Any:
        made.extend(keys)
        return stabilise(self, prepared, keys=keys, decoding=decoding)

    monkeypatch.setattr(FakeCaptioner, "stabilise", counted)
    model = make_model(is_pivot=True)
    run = go(make_run(10, model=model, decoding=Decoding(is_consistent=True)))

    check_complete(run)
    assert counts(run) == (20, 0, 20, 0)
    assert len(made) == len(set(made)) == Stabiliser.objects.filter(model=model).count() == 10
    for caption in run.captions.select_related("image"):
        assert caption.stabiliser == f"stabiliser of {caption.image.sha256[:8]}"

    Stabiliser.objects.update(text="as it was stored")
    more = go(make_run(run.collection, model=model, languages=["es"], decoding=Decoding(is_consistent=True)))
    assert set(more.captions.values_list("stabiliser", flat=True)) == {"as it was stored"}
    assert len(made) == 10


@pytest.mark.django_db
def test_without_consistent_decoding_each_language_has_a_stabiliser_of_its_own():
    run = go(make_run(4, model=make_model(is_pivot=True)))

    check_complete(run)
    assert set(run.captions.filter(language="de").values_list("stabiliser", flat=True)) == {"own de stabiliser"}
    assert not Stabiliser.objects.exists()


@pytest.mark.django_db
def test_an_image_without_a_stabiliser_fails_in_every_language_and_the_others_do_not(monkeypatch):
    run = make_run(6, model=make_model(is_pivot=True, batch_size=3), decoding=Decoding(is_consistent=True))
    bad = key_of(run, 2)
    monkeypatch.setattr(
        FakeCaptioner,
        "stabilise",
        lambda _self, _prepared, *, keys, decoding: [Failed("None.") if key == bad else "a dog" for key in keys],
    )
    check_complete(go(run))

    assert counts(run) == (12, 0, 10, 2)
    assert set(run.failures.values_list("image__sha256", "language_id", "reason")) == {
        (bad, "de", "None."),
        (bad, "fr", "None."),
    }


@pytest.mark.django_db
def test_a_run_that_was_broken_off_between_stabilisers_and_captions_goes_on_with_the_stored_ones(monkeypatch):
    run = make_run(4, model=make_model(is_pivot=True), decoding=Decoding(is_consistent=True), languages=["de"])

    def go_down(_keys: Sequence[str], language: str) -> None:
        if language:
            raise BackendDown("Down.")

    with monkeypatch.context() as patch:
        before(patch, go_down)
        go(run)
    assert (Stabiliser.objects.count(), counts(run)[2]) == (4, 0)
    Stabiliser.objects.update(text="as it was stored")

    runs.resume(run=run, now=NOW)
    check_complete(go(run))
    assert set(run.captions.values_list("stabiliser", flat=True)) == {"as it was stored"}


@pytest.mark.django_db
def test_a_translated_model_translates_the_stored_english_captions_and_images_without_one_fail():
    collection = make_collection(5)
    english = make_captioner(collection, name="English", text="a picture")
    lacking = collection.entries.last().image
    english.captions.filter(image=lacking).delete()

    run = go(make_run(collection, model=make_translated(english), languages=["de", "en"]))

    check_complete(run)
    assert counts(run) == (10, 0, 8, 2)
    for caption in run.captions.select_related("image"):
        words = english.captions.get(image=caption.image).text
        assert caption.text == (words if caption.language_id == "en" else f"de of {words}")
    assert set(run.failures.values_list("image", "reason")) == {
        (lacking.pk, "“English” has no English caption for it.")
    }


@pytest.mark.django_db
def test_reasons_and_log_are_in_the_language_of_who_started_the_run(monkeypatch):
    spoken: set[str] = set()
    before(monkeypatch, lambda _keys, _language: spoken.add(translation.get_language()))
    monkeypatch.setattr(FakeCaptioner, "prepare", lambda _self, _image: spoken.add(translation.get_language()))
    go(make_run(3, by=make_user("arab", interface_language="ar")))

    assert spoken == {"ar"}


@pytest.mark.django_db(transaction=True)
def test_storing_is_tried_again_where_the_database_was_away_for_a_moment(monkeypatch):
    monkeypatch.setattr(running, "RETRY_AFTER_S", 0.0)
    run = make_run(8, languages=["de"])
    stored = running._Shift._store_once
    fails = iter([True, False, True, False])

    def once_in_a_while(shift: Any, held: Any, made: Any, **about: Any) -> Any:
        answer = stored(shift, held, made, **about) if not next(fails, False) else None
        if answer is None:
            raise OperationalError("database is locked")
        return answer

    monkeypatch.setattr(running._Shift, "_store_once", once_in_a_while)
    check_complete(go(run))
