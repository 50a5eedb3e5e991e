"""The codes of families of models, against the lists that come with their tokenizers."""

from __future__ import annotations

import importlib

import pytest

from core.languages.rules.registry import LANGUAGES
from research.inference.backends import language_codes
from research.inference.backends.captioners import BackendSettingsError
from tests.torch_extra import needs_torch

TAGS = {language.tag for language in LANGUAGES}

LACKING = {
    "NLLB": {"quz"},
    "M2M_100": {"quz", "mi", "te"},
    "MBART_50": {"quz", "mi", "da", "el", "hu", "no"},
    "PALIGEMMA": {"quz"},
}


@pytest.mark.parametrize(("table", "lacking"), LACKING.items(), ids=LACKING)
def test_every_language_of_ours_has_a_code_or_is_known_to_have_none(table, lacking):
    codes = getattr(language_codes, table)

    assert set(codes) == TAGS - lacking
    assert len(set(codes.values())) == len(codes)


@needs_torch
@pytest.mark.parametrize(
    ("table", "module"), [("NLLB", "nllb.tokenization_nllb"), ("MBART_50", "mbart50.tokenization_mbart50")]
)
def test_codes_are_on_the_list_of_the_tokenizer_and_languages_without_one_are_not(table, module):
    published = set(importlib.import_module(f"transformers.models.{module}").FAIRSEQ_LANGUAGE_CODES)

    assert set(getattr(language_codes, table).values()) <= published
    # What the lists would call the languages that we leave out.
    assert not published & {"quz_Latn", "quz_PE", "mi_NZ", "da_DK", "el_GR", "hu_HU", "no_NO", "nb_NO"}


@needs_torch
def test_codes_of_m2m_100_are_on_its_list():
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    published = set(FAIRSEQ_LANGUAGE_CODES["m2m100"])
    assert set(language_codes.M2M_100.values()) <= published
    assert not published & {"mi", "te", "qu", "quz"}


def test_the_option_languages_says_all_that_there_are():
    nllb = language_codes.NLLB
    assert language_codes.codes({}, nllb) == nllb
    assert language_codes.codes({"languages": {"quz": "quy_Latn"}}, nllb) == {"quz": "quy_Latn"}
    assert language_codes.codes({"languages": ["de", "ca"]}, nllb) == {"de": "deu_Latn", "ca": "ca"}
    for wrong in ({}, [], [3], {"de": None}, "de"):
        with pytest.raises(BackendSettingsError, match="languages"):
            language_codes.codes({"languages": wrong}, nllb)
