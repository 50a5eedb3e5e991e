"""Translation models, made from configurations and loaded by the code that loads real ones."""

from __future__ import annotations

import json
import shutil

import pytest

from research.inference.backends import language_codes
from research.inference.backends.captioners import (
    BackendSettingsError,
    FailedImage,
    GeneratedCaption,
    ModelSpec,
    OutOfMemoryError,
)
from research.inference.backends.seq2seq import Seq2SeqBackend
from tests.inference.captioned import DECODINGS, KEYS, SHORT, texts, with_decodings
from tests.tiers import some
from tests.torch_extra import needs_torch

pytestmark = [pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses"), needs_torch]


BACKEND = Seq2SeqBackend()
OPTIONS = {
    "nllb": {},
    "m2m_100": {},
    "mbart_50": {},
    "marian": {"languages": {"de": ">>deu<<", "fr": ">>fra<<"}},
    "t5": {"languages": {"de": "<2de>", "fr": "<2fr>"}},
}
NAMES = tuple(OPTIONS)
TEXTS = (
    "a dog runs",
    "the small cat sleeps on boat",
    "house",
    "a red blue boat stands near the house under the dog",
    "the the the",
)


def loaded(name, **options):
    return BACKEND.load(ModelSpec(name, name, {**OPTIONS.get(name, {}), **options}))


def translations(translator, decoding=SHORT, *, chosen=range(5), language="de") -> list[str]:
    translations = translator.translate(
        [TEXTS[one] for one in chosen], keys=[KEYS[one] for one in chosen], language=language, decoding=decoding
    )
    return texts(translations)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(("name", "how"), with_decodings(NAMES, "greedy"))
def test_a_translation_does_not_depend_on_what_else_is_in_the_batch(models, name, how):
    translator = loaded(name)

    together = translations(translator, DECODINGS[how])

    assert translations(translator, DECODINGS[how], chosen=[3, 0, 4, 1, 2]) == [
        together[one] for one in (3, 0, 4, 1, 2)
    ]
    assert [translations(translator, DECODINGS[how], chosen=[one])[0] for one in range(5)] == together


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("name", ["marian", "t5"])
def test_the_language_decides_what_is_written(models, name):
    translator = loaded(name)

    assert translations(translator, language="de") != translations(translator, language="fr")
    assert len(set(translations(translator))) >= 2


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("name", "source", "target"),
    some(
        [("nllb", "eng_Latn", "deu_Latn"), ("m2m_100", "en", "__de__"), ("mbart_50", "en_XX", "de_DE")],
        short=2,
        reason="mBART is told as NLLB",
    ),
)
def test_a_model_is_told_the_languages_as_its_makers_say(models, name, source, target):
    import torch
    import transformers

    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(models / name).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(models / name, src_lang=source)
    code = tokenizer.convert_tokens_to_ids(target)
    read = tokenizer(list(TEXTS), return_tensors="pt", padding=True)
    with torch.inference_mode():
        tokens = model.generate(**read, forced_bos_token_id=code, max_new_tokens=9, num_beams=1, do_sample=False)
    languages = set(getattr(tokenizer, "lang_token_to_id", {}).values())
    kept = [[token for token in one if token not in languages] for one in tokens.tolist()]

    assert translations(loaded(name)) == [
        " ".join(text.split()) for text in tokenizer.batch_decode(kept, skip_special_tokens=True)
    ]
    assert (tokens[:, 1] == code).all()
    # The text is read as English: another source language makes other translations.
    other = loaded(name, source_language=target.strip("_"))
    assert translations(other, DECODINGS["drawn"]) != translations(loaded(name), DECODINGS["drawn"])


@pytest.mark.parametrize("name", ["nllb", "m2m_100"])
def test_models_of_many_languages_read_them_and_then_english_again(models, name):
    translator, about = loaded(name), {"keys": KEYS[:1], "language": "de", "decoding": DECODINGS["drawn"]}
    before = texts(translator.translate(TEXTS[:1], **about))

    assert "fr" in BACKEND.reads(ModelSpec(name, name, {}))
    assert texts(translator.translate_into_english(TEXTS[:1], **about)) != before
    assert texts(translator.translate(TEXTS[:1], **about)) == before


def test_other_models_read_languages_only_where_they_are_said_to_write_english(models):
    said = {"languages": {"en": "<2en>", "de": "<2de>"}}
    assert not BACKEND.reads(ModelSpec("t5", "t5", OPTIONS["t5"]))
    assert "ja" in BACKEND.reads(ModelSpec("t5", "t5", said))
    read = loaded("t5", **said).translate_into_english(TEXTS[:1], keys=KEYS[:1], language="ja", decoding=SHORT)
    assert isinstance(read[0], GeneratedCaption | FailedImage)


def test_nothing_is_not_translated_and_the_others_are(models):
    translator = loaded("nllb")

    translations = translator.translate(["a dog runs", " ", ""], keys=["a", "b", "c"], language="de", decoding=SHORT)

    assert isinstance(translations[0], GeneratedCaption)
    assert all(isinstance(one, FailedImage) and "nothing to translate" in one.reason for one in translations[1:])
    assert translator.translate([""], keys=["a"], language="de", decoding=SHORT) == translations[2:]


@pytest.mark.parametrize("name", ["mbart_50", "marian"])
def test_a_text_longer_than_the_model_has_positions_for_fails_alone_and_says_so(models, name):
    long = " ".join(["dog"] * 100)

    short, refused = loaded(name).translate(["a dog", long], keys=["a", "b"], language="de", decoding=SHORT)

    assert isinstance(short, GeneratedCaption)
    assert isinstance(refused, FailedImage)
    assert "tokens, and the model reads at most 64. Shorten it." in refused.reason


def test_families_are_told_apart_by_their_files(models, settings, tmp_path):
    settings.MODELS_FOLDER = tmp_path
    for name in ("nllb", "m2m_100"):
        for without in (False, True):
            copied = shutil.copytree(models / name, tmp_path / f"{name}-{without}")
            if without:
                (copied / "tokenizer_config.json").unlink()

    for without in (False, True):
        assert BACKEND.languages(ModelSpec("x", f"nllb-{without}", {}))["zh"] == "zho_Hans"
        assert BACKEND.languages(ModelSpec("x", f"m2m_100-{without}", {}))["zh"] == "zh"


def test_languages_are_those_of_the_family_without_english_or_those_that_options_say(models):
    languages = {name: set(BACKEND.languages(ModelSpec(name, name, OPTIONS[name]))) for name in OPTIONS}

    assert languages["nllb"] == set(language_codes.NLLB) - {"en"}
    assert "te" in languages["nllb"] - languages["m2m_100"]
    assert "da" not in languages["mbart_50"]
    assert languages["marian"] == {"de", "fr"}
    assert BACKEND.languages(ModelSpec("x", "nllb", {"languages": ["de"]})) == {"de": "deu_Latn"}


def test_codes_that_the_model_does_not_have_are_refused_when_it_is_loaded(models):
    with pytest.raises(BackendSettingsError, match="no language with the code deu_Goth"):
        loaded("nllb", languages={"de": "deu_Goth"})
    with pytest.raises(BackendSettingsError, match="no language with the code te"):
        loaded("m2m_100", languages={"te": "te"})


def test_memory_that_runs_out_is_said(models, monkeypatch):
    translator = loaded("m2m_100")

    def fail(*_arguments, **_named):
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate")

    monkeypatch.setattr(type(translator._loaded.at("auto")), "generate", fail)
    with pytest.raises(OutOfMemoryError):
        translations(translator)


def test_other_models_are_refused(models, tmp_path, settings):
    settings.MODELS_FOLDER = tmp_path
    bare = shutil.copytree(models / "nllb", tmp_path / "bare")
    config = json.loads((bare / "config.json").read_text(encoding="utf-8"))
    (bare / "config.json").write_text(json.dumps({**config, "model_type": "bert"}), encoding="utf-8")

    with pytest.raises(BackendSettingsError, match="of the kind bert"):
        BACKEND.check(ModelSpec("bare", "bare", {}))
