"""What may be said of a model behind an endpoint: refused by name where it cannot be, before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from research.inference.backends.captioners import BackendSettingsError, Decoding
from research.inference.backends.endpoint import EndpointBackend, EndpointTranslatorBackend
from tests.inference.fake_endpoint import spec


@pytest.fixture(autouse=True)
def _named(settings: Any) -> None:
    settings.CAPTION_ENDPOINTS = {"lab": "http://127.0.0.1:9/v1", "other": "http://127.0.0.1:9/v1"}
    settings.CAPTION_ENDPOINT_KEYS = {"lab": "sk-0123"}


BACKEND = EndpointBackend()


def test_a_temperature_that_must_not_be_sent_is_refused():
    with pytest.raises(BackendSettingsError, match="leaves out the temperature"):
        BACKEND.check_decoding(spec(parameters={"temperature": None}), Decoding(temperature=0.5))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": " "}, "option “model” is missing"),
        ({"sides": 3}, "Unknown options: sides"),
        ({"side": 8}, "side” must be a whole number from 32"),
        ({"side": 64.5}, "side” must be a whole number from 32 to 4096"),
        ({"read_s": True}, "read_s” must be a number"),
        ({"per_minute": float("nan")}, "per_minute” must be a number"),
        ({"concurrency": 0}, "concurrency"),
        ({"prompt": "Describe it."}, "names no language"),
        ({"prompts": {"xx": "…"}}, "the model does not have: xx"),
        ({"prompts": {"de": 5}}, "prompts” must have a text"),
        ({"languages": ["de"]}, "languages” must be an object"),
        ({"extra": {"messages": []}}, "extra” cannot set messages"),
        ({"parameters": {"beams": "n"}}, "parameters” gives"),
        ({"keep_cut": "yes"}, "must be true or false"),
        ({"detail": "huge"}, "detail” must be one of"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options, said):
    with pytest.raises(BackendSettingsError, match=said):
        BACKEND.check(spec(**options))


def test_an_endpoint_that_nobody_named_and_a_key_that_is_missing_are_told_with_the_variable_to_set(settings):
    with pytest.raises(BackendSettingsError, match=r"no endpoint “http://evil/v1”.*lab, other.*CAPTION_ENDPOINTS"):
        BACKEND.check(spec(source="http://evil/v1"))
    with pytest.raises(BackendSettingsError, match=r"other” has no key.*CAPTION_ENDPOINT_KEY_OTHER"):
        BACKEND.check(spec(source="other"))
    settings.CAPTION_ENDPOINTS = {}
    with pytest.raises(BackendSettingsError, match="There is none yet"):
        BACKEND.check(spec())


def test_a_prompt_need_not_name_the_language_where_no_doubt_is_left():
    BACKEND.check(spec(languages={"de": "German"}, prompt="Was ist zu sehen?"))
    BACKEND.check(spec(languages={"de": "German", "en": "English"}, prompt="?", prompts={"de": "Was?", "en": "What?"}))
    with pytest.raises(BackendSettingsError, match="names no language"):
        BACKEND.check(spec(languages={"de": "German", "en": "English"}, prompt="What?", prompts={"de": "Was?"}))


def test_a_translator_has_every_language_but_english_and_options_of_its_own():
    translator = EndpointTranslatorBackend()

    assert len(translator.languages(spec())) == 35
    assert "en" not in translator.languages(spec())
    with pytest.raises(BackendSettingsError, match="Unknown options: side"):
        translator.check(spec(side=64))
    with pytest.raises(BackendSettingsError, match=r"needs \{text\}"):
        translator.check(spec(prompt="Into {language}."))
    with pytest.raises(BackendSettingsError, match="beam search"):
        translator.check_decoding(spec(), Decoding(beams=2))
