"""Captioning and translating by an endpoint that times out, limits, refuses, breaks down and answers rubbish."""

from __future__ import annotations

import json
import logging
import re
import socket
from dataclasses import replace
from typing import Any

import pytest
from django.utils import translation
from PIL import Image

from core.languages.rules.registry import LANGUAGES
from core.languages.rules.scripts import script_of
from research.inference.backends.captioners import (
    BackendDownError,
    BackendSettingsError,
    Captioner,
    Decoding,
    FailedImage,
    GeneratedCaption,
)
from research.inference.backends.endpoint import IN_A_ROW, EndpointBackend, EndpointTranslatorBackend, seed_of
from research.inference.backends.endpoint_calls import MAX_ANSWER_BYTES
from tests.inference.fake_endpoint import HANGS_S, KEY, Answer, completion, free_port, spec

RED = Image.new("RGB", (40, 20), "red")
WORDS = "a heron stands on one leg in the reeds"


BACKEND = EndpointBackend()


def ask(
    captioner: Captioner, *, images: int = 1, language: str = "en", **decoding: Any
) -> list[GeneratedCaption | FailedImage]:
    prepared = [captioner.prepare(RED)] * images
    keys = [f"{number:064x}" for number in range(images)]
    return captioner.caption(prepared, keys=keys, language=language, decoding=Decoding(**decoding))


def reason(result: GeneratedCaption | FailedImage) -> str:
    assert isinstance(result, FailedImage)
    return result.reason


def test_an_image_goes_as_a_jpeg_in_a_vision_message_and_its_caption_comes_back(server, load):
    server.answers = [Answer("  Eine rote Tu\u0308r.\n")]

    captioner = load(side=32, detail="low", extra={"top_k": 5})

    assert ask(captioner, language="de", max_tokens=60) == [GeneratedCaption("Eine rote T\u00fcr.")]
    asked = server.asked[0]
    content = asked.body["messages"][0]["content"]
    assert asked.headers["Content-Type"] == "application/json"
    assert asked.body["messages"][0]["role"] == "user"
    assert [part["type"] for part in content] == ["text", "image_url"]
    assert content[1]["image_url"]["detail"] == "low"
    assert (asked.image.format, asked.image.mode, asked.image.size) == ("JPEG", "RGB", (32, 16))
    assert "in German (language code de)" in asked.prompt
    assert {name: asked.body[name] for name in asked.body if name != "messages"} == {
        "model": "tiny-1",
        "max_tokens": 60,
        "temperature": 0.0,
        "top_k": 5,
    }


def test_a_small_image_is_not_made_larger_and_the_side_is_768_if_nothing_is_said(server, load):
    captioner = load()
    ask(captioner)

    assert captioner.side == 768
    assert server.asked[0].image.size == RED.size
    assert captioner.prepare(RED) == captioner.prepare(RED)


def test_all_36_languages_are_asked_for_by_their_english_names(server, load):
    captioner = load()
    for language in LANGUAGES:
        ask(captioner, language=language.tag)

    assert list(BACKEND.languages(spec())) == [language.tag for language in LANGUAGES]
    for language, asked in zip(LANGUAGES, server.asked, strict=True):
        assert f"in {language.english_name} (language code {language.tag})" in asked.prompt


def test_a_researcher_chooses_other_languages_and_other_prompts(server, load):
    options: dict[str, Any] = {
        "languages": {"cy": "Welsh", "de": "de"},
        "prompt": "{braces} in {language}",
        "prompts": {"de": "Was ist zu sehen? ({tag})"},
    }
    captioner = load(**options)
    ask(captioner, language="cy")
    ask(captioner, language="de")

    assert dict(BACKEND.languages(spec(**options))) == {"cy": "Welsh", "de": "German"}
    assert [asked.prompt for asked in server.asked] == ["{braces} in Welsh", "Was ist zu sehen? (de)"]


def test_what_is_drawn_follows_from_image_language_and_seed(server, load):
    captioner = load()
    ask(captioner, images=2, temperature=0.7, top_p=0.9, seed=3)
    ask(captioner, images=1, temperature=0.7, top_p=0.9, seed=3)
    ask(captioner, images=1, language="de", temperature=0.7, seed=3)

    seeds = [asked.body["seed"] for asked in server.asked]
    first = seed_of(f"{0:064x}", "en", 3)
    assert sorted(seeds[:2]) == sorted([first, seed_of(f"{1:064x}", "en", 3)])
    assert seeds[2] == first
    assert len(set(seeds)) == 3
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert server.asked[0].body["top_p"] == 0.9
    assert "top_p" not in server.asked[3].body


def test_an_endpoint_that_calls_parameters_otherwise_is_sent_its_own_names(server, load):
    ask(load(parameters={"max_tokens": "max_completion_tokens", "temperature": None}), max_tokens=50)

    assert server.asked[0].body["max_completion_tokens"] == 50
    assert not {"max_tokens", "temperature"} & set(server.asked[0].body)


@pytest.mark.parametrize(
    ("decoding", "said"),
    [
        *(({"beams": 4}, "beam search"), ({"min_tokens": 5}, "minimum number of tokens")),
        ({"length_penalty": 0.8}, "length penalty"),
        *(({"precision": "float16"}, "cannot set the precision"), ({"is_consistent": True}, "stabilisers")),
    ],
)
def test_a_decoding_that_the_protocol_has_no_word_for_is_refused_and_nothing_is_sent(server, load, decoding, said):
    with pytest.raises(BackendSettingsError, match=said):
        BACKEND.check_decoding(spec(), Decoding(**decoding))
    with pytest.raises(BackendSettingsError, match=said):
        ask(load(), **decoding)

    BACKEND.check_decoding(spec(), Decoding(temperature=1.0, top_p=0.5, seed=9))
    assert server.asked == []


def test_an_endpoint_that_asks_for_no_key_gets_none(server, load, settings):
    settings.CAPTION_ENDPOINT_KEYS = {"lab": "none"}

    with pytest.raises(BackendDownError, match="does not accept the key in CAPTION_ENDPOINT_KEY_LAB"):
        ask(load())

    assert "Authorization" not in server.asked[0].headers


def test_pivot_stabilised_models_are_refused(load):
    for refusing in (BACKEND.check, BACKEND.load):
        with pytest.raises(BackendSettingsError, match="Pivot-stabilised"):
            refusing(replace(spec(), is_pivot=True))
    with pytest.raises(BackendSettingsError, match="Pivot-stabilised"):
        load().stabilise([], keys=[], decoding=Decoding())


RUBBISH = {
    "HTML": (Answer(body=b"<html><body>Sign in, heron</body></html>"), "HTML instead of a caption"),
    "not JSON": (Answer(body=WORDS.encode()), "not JSON"),
    "half a JSON": (Answer(body=completion(WORDS)[:-9]), "not JSON"),
    "no UTF-8": (Answer(body=b'"\xff\xfe'), "not JSON"),
    "too deep": (Answer(body=b"[" * 100_000), "not JSON"),
    "nothing": (Answer(body=b""), "not JSON"),
    "a list": (Answer(body=b"[1, 2]"), "not a chat completion"),
    "no choices": (Answer(body=b'{"choices": []}'), "no choices"),
    "choices of the wrong kind": (Answer(body=b'{"choices": {"0": "heron"}}'), "no choices"),
    "a choice of the wrong kind": (Answer(body=b'{"choices": ["heron"]}'), "no choices"),
    "a message of the wrong kind": (Answer(body=b'{"choices": [{"message": "heron"}]}'), "no choices"),
    "no content": (Answer(body=completion(None)), "no text"),
    "content of the wrong kind": (Answer(body=completion(17)), "no text"),
    "parts without text": (Answer(body=completion([{"type": "audio"}])), "no text"),
    "empty": (Answer(body=completion(" \n ")), "empty"),
    "no characters": (Answer(body=completion("\u0000heron")), "invalid characters"),
    "half a character": (
        Answer(body=b'{"choices": [{"message": {"content": "heron \\ud800"}}]}'),
        "invalid characters",
    ),
    "a book": (Answer(body=completion(WORDS * 100)), "The most allowed is 2000"),
    "reasoning": (Answer(body=completion(f"<think>heron</think> {WORDS}")), "reasoning"),
    "a refusal": (Answer(body=completion(None, refusal="I cannot talk of a heron.")), "refused to answer"),
    "a filter": (Answer(body=completion(WORDS, finish="content_filter")), "refused to answer"),
    "cut": (Answer(body=completion(WORDS, finish="length")), "cut off after 40 tokens"),
    "huge": (Answer(body=b" " * (MAX_ANSWER_BYTES + 1)), "more than 1000000 bytes"),
    "an image it does not take": (Answer(body=b'{"error": {"message": "Bad image"}}', status=400), "400, “Bad ima"),
    "a filter before it": (Answer(body=b'{"error": "flagged"}', status=403), "403, “flagged”"),
    "too large an image": (Answer(body=b"<html>heron", status=413), r"rejected the request \(413\)"),
    "what a validator found": (
        Answer(body=b'{"detail": [{"input": "heron"}]}', status=422),
        r"rejected the request \(422\)",
    ),
    "an error in a list": (Answer(body=b'{"error": ["heron"]}', status=400), r"rejected the request \(400\)"),
}


@pytest.mark.parametrize("kind", RUBBISH)
def test_rubbish_fails_its_image_alone_and_the_reason_has_no_words_of_the_caption(server, load, kind):
    rubbish, said = RUBBISH[kind]
    server.answers = [Answer("A red door."), rubbish, Answer("A green door.")]

    first, second, third = ask(load(concurrency=1), images=3)

    assert (first, third) == (GeneratedCaption("A red door."), GeneratedCaption("A green door."))
    assert re.search(said, reason(second))
    assert "heron" not in reason(second)
    assert len(server.asked) == 3


def test_an_answer_in_parts_and_one_that_is_cut_and_wanted_so_are_taken(server, load):
    parts = [{"type": "text", "text": "A red"}, {"type": "text", "text": " door."}]
    server.answers = [Answer(body=completion(parts)), Answer(body=completion("A red", finish="length"))]

    captioner = load(keep_cut=True)

    assert [ask(captioner), ask(captioner)] == [[GeneratedCaption("A red door.")], [GeneratedCaption("A red")]]


def test_reasons_are_in_the_language_of_whoever_started_the_run(server, load):
    captioner = load()
    server.always = lambda asked: Answer(" ")

    with translation.override("ar"):
        (arabic,) = ask(captioner)
    (english,) = ask(captioner)

    assert reason(english) == "The caption is empty."
    assert script_of(reason(arabic)[0]) == "Arab"


def test_many_without_a_caption_in_a_row_stop_the_run_but_refusals_do_not(server, load, fake_time):
    captioner = load(concurrency=1)
    server.always = lambda asked: Answer(body=completion(None, refusal="No."))
    assert len(ask(captioner, images=2 * IN_A_ROW)) == 2 * IN_A_ROW

    server.always = lambda asked: Answer(body=b"<html>")
    assert len(ask(captioner, images=IN_A_ROW - 1)) == IN_A_ROW - 1
    with pytest.raises(BackendDownError, match=f"make a caption {IN_A_ROW} times in a row.*HTML"):
        ask(captioner)

    # Whoever goes on after a look at it is given as many again.
    fake_time.wait(1)
    assert reason(ask(captioner)[0])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(body=b'{"error": {"message": "Bad key"}}', status=401), "CAPTION_ENDPOINT_KEY_LAB .401, “Bad key”"),
        (Answer(body=b'{"error": {"message": "No credit"}}', status=402), "requires payment .402, “No credit”"),
        (Answer(body=b'{"message": "No tiny-1"}', status=404), "does not know this model or address .404, “No tiny-1”"),
        (Answer(status=302, body=b"", headers={"Location": "/v2/chat/completions"}), "redirect .302.*not followed"),
    ],
)
def test_what_is_wrong_for_every_image_stops_the_batch_at_once(server, load, answer, said):
    server.always = lambda asked: answer

    with pytest.raises(BackendDownError, match=said):
        ask(load(concurrency=1), images=5)

    assert len(server.asked) == 1


def test_after_a_breakdown_a_batch_on_its_way_is_not_asked_and_a_later_one_is(server, load, fake_time):
    captioner = load()
    server.answers = [Answer(body=b"{}", status=404)]
    for _batch in range(2):
        with pytest.raises(BackendDownError, match="404"):
            ask(captioner)
    assert len(server.asked) == 1

    fake_time.wait(1)

    assert ask(captioner) == [GeneratedCaption("A red door.")]


def test_nobody_there_at_all_stops_the_batch_with_a_sentence_without_the_address(settings, load, fake_time):
    port = free_port()
    settings.CAPTION_ENDPOINTS = {"lab": f"http://127.0.0.1:{port}/v1"}

    with pytest.raises(BackendDownError) as down:
        ask(load(concurrency=1), images=50)

    assert str(down.value) == "The endpoint “lab” does not accept connections. It was asked 6 times."
    # 1, 2, 4, 8 and 16 s at most, half of it at least; once, and not for each image.
    assert 15.5 <= fake_time.now - 1000 <= 31


def test_a_name_that_leads_nowhere_and_a_server_without_tls_are_told_apart(settings, load, server, monkeypatch):
    def lost(*arguments: Any, **more: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    settings.CAPTION_ENDPOINTS = {"lab": "http://nowhere.invalid/v1"}
    captioner = load(retries=0)
    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", lost)
        with pytest.raises(BackendDownError, match="cannot be resolved"):
            ask(captioner)
    settings.CAPTION_ENDPOINTS = {"lab": server.address.replace("http:", "https:")}
    with pytest.raises(BackendDownError, match="does not use TLS"):
        ask(load())


def test_neither_key_nor_words_are_in_logs_descriptions_or_refusals(server, load, caplog):
    caplog.set_level(logging.DEBUG)
    echo = json.dumps({"error": {"message": f"{KEY} may not\n{'x' * 500}"}}).encode()
    server.answers = [Answer(WORDS), Answer(body=echo, status=400)]
    captioner = load(concurrency=1)

    said, failed = ask(captioner, images=2)

    assert said == GeneratedCaption(WORDS)
    assert "… may not x" in reason(failed)
    assert len(reason(failed)) < 300
    everything = f"{caplog.text} {captioner.describe()} {failed!r} {captioner!r} {vars(captioner)!r}"
    assert caplog.text
    assert KEY not in everything
    assert "heron" not in everything
    assert server.address not in str(captioner.describe())
    assert captioner.describe()["endpoint"] == "lab"


@pytest.fixture
def translating(server, fake_time):
    backend = EndpointTranslatorBackend(clock=fake_time.clock, wait=fake_time.wait)
    loaded = backend.load(spec())
    yield loaded
    loaded.close()


def test_captions_are_translated_by_the_prompt_of_the_language(server, translating):
    server.always = lambda asked: Answer("Ein Reiher." if asked.prompt.endswith(f"\n\n{WORDS} {{tag}}") else "?")

    translations = translating.translate([f"{WORDS} {{tag}}"], keys=["k"], language="de", decoding=Decoding())

    assert translations == [GeneratedCaption("Ein Reiher.")]
    assert server.asked[0].body["messages"][0]["content"].startswith("Translate this caption of an image from English")
    assert "into German (language code de)" in server.asked[0].prompt


def test_captions_of_people_are_translated_into_english(server, translating):
    server.always = lambda asked: Answer("A heron." if asked.prompt.endswith("\n\nEin Reiher.") else "?")

    glosses = translating.translate_into_english(["Ein Reiher."], keys=["k"], language="de", decoding=Decoding())

    assert glosses == [GeneratedCaption("A heron.")]
    assert "from German (language code de) into English" in server.asked[0].prompt


@pytest.mark.parametrize("echoed", [WORDS, f"Invalid: {WORDS.upper()[3:20]}", "data:image/jpeg;base64,AAAA"])
def test_what_the_server_says_is_left_out_where_it_repeats_what_it_was_sent(server, translating, echoed):
    server.answers = [Answer(body=json.dumps({"error": {"message": echoed}}).encode(), status=400)]

    (failed,) = translating.translate([WORDS], keys=["k"], language="de", decoding=Decoding())

    assert reason(failed) == "The endpoint “lab” rejected the request (400; its message repeats the request)."


def test_a_server_that_hangs_does_so_for_one_image_only(server, load):
    """With the clock of the machine, as it is the machine that waits."""
    server.answers = [Answer("A door.", takes_s=HANGS_S)]
    results = ask(load(real=True, read_s=0.3, retries=0, concurrency=2), images=2)
    assert sorted(type(result).__name__ for result in results) == ["FailedImage", "GeneratedCaption"]
    assert "did not answer within 0.3 s" in reason(next(one for one in results if isinstance(one, FailedImage)))
