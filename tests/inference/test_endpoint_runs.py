"""Runs of models without a GPU of ours: behind an endpoint that misbehaves, translated by it, and by Palette."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.apps import apps
from django.core import serializers
from django.urls import reverse

from core.languages.models import Language
from research.inference.backends.captioners import BackendSettingsError
from research.inference.backends.endpoint import BATCHES
from research.inference.models import CaptioningModel, ModelCaption, Run, RunState, Translator
from research.inference.services import model_cache, runs, steering
from research.inference.services.models import register_model, register_translated_model, register_translator
from research.inference.services.steering import WorkRefusedError
from tests.inference.embedded import images_of, painted_collection
from tests.inference.fake_endpoint import KEY, Answer, Asked, completion
from tests.inference.fake_runs import LATER, begin, check_complete, counts, go, log_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


def make_model(**options: Any) -> CaptioningModel:
    about = {"model": "tiny-1", "retries": 0, "concurrency": 2, "read_s": 10, **options}
    return register_model(is_shared=True, name="Tiny", backend="endpoint", source="lab", options=about, by=None)


def colour_of(asked: Asked) -> str:
    red, green, blue = asked.image.resize((1, 1)).tobytes()
    return "red" if red > green + 100 and red > blue + 100 else "other"


def test_a_collection_is_captioned_and_what_the_endpoint_cannot_do_fails_alone(server):
    def answer(asked: Asked) -> Answer:
        if colour_of(asked) == "red":
            return Answer(body=completion(None, refusal="I will not look at red."))
        # Long enough for the other thread to ask meanwhile.
        return Answer(f"A door, {'Tür' if 'German' in asked.prompt else 'in English'}.", takes_s=0.05)

    server.always = answer
    collection = painted_collection(8)

    run = go(begin(make_model(), collection, "en", "de"))

    check_complete(run)
    assert counts(run) == (16, 0, 14, 2)
    assert run.queue == "default"
    assert len(server.asked) == 16
    assert set(run.failures.values_list("image_id", "reason")) == {
        (images_of(collection)[0].pk, "The model refused to answer.")
    }
    assert set(ModelCaption.objects.filter(language="de").values_list("text", flat=True)) == {"A door, Tür."}
    assert "red" not in log_of(run)
    assert server.most_at_once == 2


def test_neither_key_nor_address_comes_into_the_database(server):
    server.always = lambda asked: Answer(body=f'{{"error": {{"message": "{KEY} at {server.address}"}}}}'.encode())
    run = go(begin(make_model(), painted_collection(3), "en"))
    server.always = lambda asked: Answer(body=f'{{"error": "{KEY}"}}'.encode(), status=400)
    again = runs.retry(run=run, now=LATER)
    go(run, at=LATER)

    rows = [row for model in apps.get_app_config("inference").get_models() for row in model._default_manager.all()]
    stored = serializers.serialize("json", rows)
    assert again == 3
    assert "rejected the request (400, “…”)" in stored
    assert KEY not in stored
    assert server.address not in stored
    assert str(server.address.split(":")[2].partition("/")[0]) not in log_of(run)


def test_an_endpoint_that_goes_away_ends_the_run_with_a_sentence_and_no_image_fails(server):
    collection = painted_collection(30)
    run = begin(make_model(retries=1), collection, "en")
    server.answers = [Answer("A door.")] * 8
    server.always = lambda asked: Answer(body=b"", status=503, headers={"Retry-After": "3600"})

    go(run)

    assert run.state == RunState.FAILED
    assert run.error.startswith("The endpoint “lab” failed (503). It asks for a wait of 3600 s")
    assert run.failures.count() == 0
    assert run.done == ModelCaption.objects.count() < 30

    before = run.done
    # As in another worker, which has not found it down.
    model_cache.clear()
    server.always = lambda asked: Answer("A window.")
    steering.resume(run, now=LATER)
    go(run, at=LATER)

    check_complete(run)
    assert counts(run) == (30, 0, 30, 0)
    assert ModelCaption.objects.filter(text="A door.").count() >= before


def test_a_key_that_is_not_accepted_ends_the_run_after_the_first_questions(server, settings):
    model = make_model()
    settings.CAPTION_ENDPOINT_KEYS = {"lab": "sk-another"}

    run = go(begin(model, painted_collection(20), "en"))

    assert run.state == RunState.FAILED
    assert "does not accept the key in CAPTION_ENDPOINT_KEY_LAB" in run.error
    assert "sk-another" not in run.error + log_of(run)
    assert len(server.asked) <= 2


def test_a_run_that_could_not_be_decoded_so_or_whose_endpoint_is_gone_is_not_started(server, settings):
    model, collection = make_model(), painted_collection(2)
    with pytest.raises(WorkRefusedError, match="do not support beam search"):
        begin(model, collection, "en", beams=5)
    Language.objects.create(tag="tlh", english_name="Klingon", own_name="tlhIngan Hol")
    with pytest.raises(WorkRefusedError, match=r"has no code for .*Klingon"):
        begin(model, collection, "en", "tlh")
    settings.CAPTION_ENDPOINTS = {}
    with pytest.raises(WorkRefusedError, match="There is no endpoint “lab”"):
        begin(model, collection, "en")

    assert not Run.objects.exists()
    assert not CaptioningModel.objects.exclude(decoding={}).exists()


def test_english_captions_are_translated_by_the_endpoint(server):
    collection = painted_collection(4)
    english = make_model()
    server.always = lambda asked: Answer("A red door.")
    go(begin(english, collection, "en"))
    translator = register_translator(
        is_shared=True, name="Tiny translator", backend="endpoint", source="lab", options={"model": "tiny-2"}, by=None
    )
    model = register_translated_model(
        is_shared=True, name="Tiny, translated", english_model=english, translator=translator, by=None
    )
    server.always = lambda asked: Answer("Eine rote Tür." if asked.prompt.endswith("A red door.") else "?")

    run = go(begin(model, collection, "de"))

    check_complete(run)
    assert set(ModelCaption.objects.filter(model=model).values_list("text", flat=True)) == {"Eine rote Tür."}
    assert {asked.body["model"] for asked in server.asked} == {"tiny-1", "tiny-2"}
    assert Translator.objects.get().options == {"model": "tiny-2"}


def test_palette_captions_a_collection_in_all_its_languages():
    model_cache.clear()
    collection = painted_collection(8)
    model = register_model(is_shared=True, name="Palette", backend="palette", by=None)

    run = go(begin(model, collection, "en", "ar", "ja"))

    check_complete(run)
    assert counts(run) == (24, 0, 24, 0)
    first = ModelCaption.objects.get(model=model, image=images_of(collection)[0], language="en")
    assert first.text == "A wide, dark image, almost all in red."
    with pytest.raises(WorkRefusedError, match="has no code for"):
        begin(model, collection, "sw")


def counted(text: str, *, sent: int, received: int) -> bytes:
    answer = json.loads(completion(text))
    return json.dumps(answer | {"usage": {"prompt_tokens": sent, "completion_tokens": received}}).encode()


def test_tokens_and_cost_are_counted_also_of_captions_that_fail(server, researcher):
    def answer(asked: Asked) -> Answer:
        return Answer(body=counted("" if colour_of(asked) == "red" else "A door.", sent=1000, received=20))

    server.always = answer
    run = go(begin(make_model(input_price=2.5, output_price=10), painted_collection(8), "en"))

    check_complete(run)
    assert run.failed == 1
    assert (run.input_tokens, run.output_tokens) == (8000, 160)
    page = researcher.get(reverse("inference:run-show", args=[run.pk])).text
    assert "0.0216" in page
    assert "8,000" in page


def test_a_run_ends_at_its_cost_limit_and_keeps_what_it_made(server):
    server.always = lambda asked: Answer(body=counted("A door.", sent=1000, received=0))
    about = {"input_price": 1000, "output_price": 0, "cost_limit": 9, "concurrency": 1}
    run = go(begin(make_model(**about), painted_collection(40), "en"))

    assert run.state == RunState.FAILED
    assert "its limit is 9. Register the model again with a higher “cost_limit”." in run.error
    assert 9 <= run.input_tokens / 1000 <= 9 + 2 * BATCHES
    # Some of those that were on their way may be counted already.
    assert run.done == ModelCaption.objects.filter(run=run).count()
    assert run.input_tokens / 1000 - 2 * BATCHES <= run.done <= run.input_tokens / 1000
    # Resumed, it makes no more than is on its way at once.
    steering.resume(run, now=LATER)
    before = run.input_tokens
    assert go(run, at=LATER).state == RunState.FAILED
    assert run.input_tokens - before <= 2000 * BATCHES
    # What was on its way when a run ended is on its own bill, not on the next one's.
    assert run.input_tokens == 1000 * len(server.asked)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cost_limit": 5}, "needs “input_price” and “output_price”"),
        ({"input_price": -1}, "must be a number from 0 to"),
        ({"input_price": "much"}, "must be a number from 0 to"),
    ],
)
def test_prices_that_make_no_sense_are_refused(server, options, says):
    with pytest.raises(BackendSettingsError, match=says):
        make_model(**options)
