"""What a worker makes of the images of a run: batches that fit into memory, broken images, and texts needed first."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from typing import Any

import pytest
from django.utils import translation
from PIL import Image as Pillow

from core.images.models import Image
from research.inference.backends.captioners import (
    BackendDownError,
    Decoding,
    FailedImage,
    GeneratedCaption,
    OutOfMemoryError,
)
from research.inference.models import Chunk, ModelCaption, RunState, Stabiliser
from research.inference.services import prefetcher, steering
from research.inference.services.prefetcher import THREADS
from tests.factories import NOW, make_captioner, make_collection, make_user
from tests.inference.fake_backend import FakeCaptioner
from tests.inference.fake_runs import (
    before,
    check_complete,
    counts,
    fake,  # noqa: F401 - for all tests here
    go,
    key_of,
    log_of,
    make_model,
    make_run,
    make_translated,
    store_image,
)

pytestmark = pytest.mark.django_db


def test_a_run_is_done_with_every_caption_once_and_its_log_says_how():
    run = go(make_run(20))

    check_complete(run)
    assert counts(run) == (40, 0, 40, 0)
    caption = ModelCaption.objects.filter(language="fr").first()
    assert caption.text == f"fr caption of {caption.image.sha256[:8]}"
    assert (run.started_at, run.finished_at) == (NOW, NOW)
    assert "Model ready after 0.0 s. model: fake; device: none" in log_of(run)
    assert log_of(run).endswith("Done: 40 made, 0 already there, 0 failed.")
    assert caption.text not in log_of(run)


def test_batches_are_as_large_as_the_model_wants_them(batch_sizes):
    run = go(make_run(20, model=make_model(batch_size=6), languages=["de"]))

    assert batch_sizes == [6, 2, 6, 2, 4]
    assert run.batch_size == 6


def test_where_memory_runs_out_batches_are_halved_and_the_log_says_so(batch_sizes):
    run = go(make_run(20, model=make_model(batch_size=8, fits=3)))

    check_complete(run)
    assert (counts(run), run.batch_size) == ((40, 0, 40, 0), 2)
    assert max(batch_sizes) <= 3
    assert log_of(run).count("Memory ran out") == 1
    assert "batches have 2 images" in log_of(run)


def test_an_image_for_which_memory_never_suffices_fails_alone(monkeypatch):
    run = make_run(3, model=make_model(batch_size=2), languages=["de"])
    culprit = key_of(run, 2)

    def too_large(keys: Sequence[str], _language: str) -> None:
        if culprit in keys:
            raise OutOfMemoryError

    before(monkeypatch, too_large)
    check_complete(go(run))
    assert counts(run) == (3, 0, 2, 1)
    assert set(run.failures.values_list("reason", flat=True)) == {"Memory ran out, even for this image by itself."}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_an_image_that_the_model_breaks_on_fails_alone(monkeypatch):
    run = make_run(20, model=make_model(batch_size=8))
    culprit = key_of(run, 6)

    def break_on(keys: Sequence[str], _language: str) -> None:
        if culprit in keys:
            raise RuntimeError("what the image shows must not be told")

    before(monkeypatch, break_on)
    check_complete(go(run))

    assert counts(run) == (40, 0, 38, 2)
    assert set(run.failures.values_list("image__sha256", "reason")) == {
        (culprit, "The model failed on it (RuntimeError).")
    }
    assert "must not be told" not in log_of(run)


@pytest.mark.parametrize("images", [1, 5, 30])
def test_where_the_model_breaks_on_every_image_the_run_fails_and_no_image_does(monkeypatch, images):
    def break_down(_keys: Sequence[str], _language: str) -> None:
        raise ConnectionError

    with monkeypatch.context() as patch:
        before(patch, break_down)
        run = go(make_run(images))
    assert (run.state, "on every image" in run.error) == (RunState.FAILED, True)
    assert "(ConnectionError)" in run.error
    assert (counts(run)[2:], run.failures.count()) == ((0, 0), 0)

    steering.resume(run, now=NOW)
    check_complete(go(run))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_backend_that_is_down_ends_the_run_at_once_and_keeps_what_was_made(monkeypatch):
    run = make_run(20, languages=["de"])
    last = key_of(run, 20)

    def go_down(keys: Sequence[str], _language: str) -> None:
        if last in keys:
            raise BackendDownError("The endpoint does not answer.")

    with monkeypatch.context() as patch:
        before(patch, go_down)
        go(run)
    assert (run.state, run.error) == (RunState.FAILED, "The endpoint does not answer.")
    assert (counts(run)[2], run.failures.count()) == (16, 0)
    assert not Chunk.objects.filter(state="running").exists()

    steering.resume(run, now=NOW)
    check_complete(go(run))


def test_what_is_no_caption_fails_with_the_reason_and_is_not_repeated(monkeypatch):
    said = iter(["", " fine ", "a\0b", "long " * 1000, "ﬁne"])
    monkeypatch.setattr(
        FakeCaptioner, "caption", lambda _self, prepared, **_about: [GeneratedCaption(next(said)) for _one in prepared]
    )
    run = go(make_run(5, languages=["de"]))

    check_complete(run)
    assert set(run.captions.values_list("text", flat=True)) == {"fine", "ﬁne"}
    reasons = "\n".join(run.failures.values_list("reason", flat=True))
    assert "empty" in reasons
    assert "invalid characters" in reasons
    assert "5000 characters" in reasons.replace("4999", "5000")


def test_a_backend_that_gives_too_few_captions_breaks_and_none_goes_to_another_image(monkeypatch):
    monkeypatch.setattr(
        FakeCaptioner, "caption", lambda _self, prepared, *, keys, **_about: [GeneratedCaption(key) for key in keys[1:]]
    )
    run = go(make_run(5, languages=["de"]))

    assert (run.state, counts(run)) == (RunState.FAILED, (5, 0, 0, 0))
    assert not ModelCaption.objects.exists()


def test_an_image_that_cannot_be_read_fails_alone_in_every_language(media):
    run = make_run(4, model=make_model(side=32))
    gone, broken, *fine = Image.objects.filter(collections=run.collection).order_by("pk")
    store_image(broken, b"no image")
    for image in fine:
        store_image(image)

    check_complete(go(run))

    assert counts(run) == (8, 0, 4, 4)
    reasons = dict(run.failures.filter(language="de").values_list("image_id", "reason"))
    assert reasons == {
        gone.pk: "Its file is missing from storage.",
        broken.pk: "It cannot be read as an image (UnidentifiedImageError).",
    }


def test_the_model_sees_images_upright_in_colour_and_no_larger_than_it_wants(media, monkeypatch):
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
        store_image(image, file.getvalue())
    seen: dict[tuple[int, int], Pillow.Image] = {}
    monkeypatch.setattr(FakeCaptioner, "prepare", lambda _self, image: seen.update({image.size: image}))

    check_complete(go(run))

    assert sorted(seen) == [(30, 60), (50, 100)]
    assert {image.mode for image in seen.values()} == {"RGB"}
    assert seen[(30, 60)].getpixel((0, 0)) == (255, 255, 255)


def test_an_image_that_the_model_cannot_take_fails_alone(media, monkeypatch):
    run = make_run(10, model=make_model(side=8), languages=["de"])
    images = list(Image.objects.filter(collections=run.collection).order_by("pk"))
    for number, image in enumerate(images):
        file = io.BytesIO()
        Pillow.new("RGB", (8, 8 if number else 1)).save(file, "PNG")
        store_image(image, file.getvalue())

    def prepare(_self: FakeCaptioner, image: Pillow.Image) -> None:
        if image.height < 8:
            raise ValueError("mean must have 1 elements")

    monkeypatch.setattr(FakeCaptioner, "prepare", prepare)
    check_complete(go(run))

    assert list(run.failures.values_list("image_id", "reason")) == [
        (images[0].pk, "The model cannot process it (ValueError).")
    ]


def test_a_model_that_wants_no_pixels_is_shown_none(monkeypatch):
    monkeypatch.setattr("research.inference.services.prefetcher.read_image", pytest.fail)
    check_complete(go(make_run(5)))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_images_are_prepared_ahead_of_the_device_but_never_all_of_them(monkeypatch):
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

    most = (prefetcher.BATCHES_AHEAD + 2) * 4
    assert 4 <= max(ahead) <= most < 200
    assert sum(one >= 4 for one in ahead) > len(ahead) / 2, "the next batch is ready when one is done"


@pytest.mark.long(reason="at least three others run each of its lines")
def test_large_images_are_read_one_at_a_time(monkeypatch, media):
    run = make_run(6, model=make_model(side=8), languages=["de"])
    Image.objects.update(width=8000, height=8000)
    for image in Image.objects.all():
        store_image(image)
    at_once: list[int] = []
    reading: list[int] = []

    def slowly(file: Any, *, side: int | None) -> Pillow.Image:
        reading.append(1)
        at_once.append(len(reading))
        time.sleep(0.02)
        reading.pop()
        return Pillow.new("RGB", (8, 8))

    monkeypatch.setattr("research.inference.services.prefetcher.decoded_upright", slowly)
    monkeypatch.setattr(prefetcher, "THREADS", max(THREADS, 4))
    check_complete(go(run))
    assert max(at_once) == 1

    Image.objects.update(width=800, height=800)
    at_once.clear()
    check_complete(go(make_run(run.collection, model=run.model, languages=["fr"])))
    assert len(at_once) == 6


def test_reasons_and_log_are_in_the_language_of_who_started_the_run(monkeypatch):
    spoken: set[str] = set()
    before(monkeypatch, lambda _keys, _language: spoken.add(translation.get_language()))
    monkeypatch.setattr(FakeCaptioner, "prepare", lambda _self, _image: spoken.add(translation.get_language()))
    go(make_run(3, by=make_user("arab", interface_language="ar")))

    assert spoken == {"ar"}


@pytest.mark.long(reason="at least three others run each of its lines")
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


def test_without_consistent_decoding_each_language_has_a_stabiliser_of_its_own():
    run = go(make_run(4, model=make_model(is_pivot=True)))

    check_complete(run)
    assert set(run.captions.filter(language="de").values_list("stabiliser", flat=True)) == {"own de stabiliser"}
    assert not Stabiliser.objects.exists()


def test_an_image_without_a_stabiliser_fails_in_every_language_and_the_others_do_not(monkeypatch):
    run = make_run(6, model=make_model(is_pivot=True, batch_size=3), decoding=Decoding(is_consistent=True))
    bad = key_of(run, 2)
    monkeypatch.setattr(
        FakeCaptioner,
        "stabilise",
        lambda _self, _prepared, *, keys, decoding: [FailedImage("None.") if key == bad else "a dog" for key in keys],
    )
    check_complete(go(run))

    assert counts(run) == (12, 0, 10, 2)
    assert set(run.failures.values_list("image__sha256", "language_id", "reason")) == {
        (bad, "de", "None."),
        (bad, "fr", "None."),
    }


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_run_that_was_broken_off_between_stabilisers_and_captions_goes_on_with_the_stored_ones(monkeypatch):
    run = make_run(4, model=make_model(is_pivot=True), decoding=Decoding(is_consistent=True), languages=["de"])

    def go_down(_keys: Sequence[str], language: str) -> None:
        if language:
            raise BackendDownError("Down.")

    with monkeypatch.context() as patch:
        before(patch, go_down)
        go(run)
    assert (Stabiliser.objects.count(), counts(run)[2]) == (4, 0)
    Stabiliser.objects.update(text="as it was stored")

    steering.resume(run, now=NOW)
    check_complete(go(run))
    assert set(run.captions.values_list("stabiliser", flat=True)) == {"as it was stored"}


def test_a_translated_model_translates_the_stored_english_captions_and_images_without_one_fail():
    collection = make_collection(5)
    english = make_captioner(collection, name="English", text="an image")
    lacking = collection.entries.last().image
    english.captions.filter(image=lacking).delete()

    run = go(make_run(collection, model=make_translated(english), languages=["de", "en"]))

    check_complete(run)
    assert counts(run) == (10, 0, 8, 2)
    for caption in run.captions.select_related("image"):
        words = english.captions.get(image=caption.image).text
        assert caption.text == (words if caption.language_id == "en" else f"de of {words}")
    assert set(run.failures.values_list("image", "reason")) == {(lacking.pk, "“English” has no English caption of it.")}
