"""Captions that need other texts first: stabilisers made once per image, and English captions to translate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from research.inference.backends.captioners import BackendDownError, Decoding, FailedImage
from research.inference.models import Stabiliser
from research.inference.services import steering
from tests.factories import NOW, make_captioner, make_collection
from tests.inference.fake_backend import FakeCaptioner
from tests.inference.fake_runs import (
    before,
    check_complete,
    counts,
    fake,  # noqa: F401 - for all tests here
    go,
    key_of,
    make_model,
    make_run,
    make_translated,
)

pytestmark = pytest.mark.django_db


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
