"""Where models of transformers lie, their languages' codes, and what is refused before one is loaded."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from core.languages.rules.registry import LANGUAGES
from research.inference.backends import generation, language_codes, transformer_files
from research.inference.backends.captioners import (
    BackendSettingsError,
    Captioner,
    Decoding,
    FailedImage,
    GeneratedCaption,
    ModelSpec,
)
from research.inference.backends.chat import ChatBackend, prompt_of
from research.inference.backends.encoder_decoder import EncoderDecoderBackend
from research.inference.backends.encoders import ExtraMissingError
from research.inference.backends.seq2seq import Seq2SeqBackend
from tests.inference.captioned import COMMIT
from tests.torch_extra import needs_torch

BACKEND = EncoderDecoderBackend()
NAMES = ("blip", "git")
OF_BLIP = {
    "num_hidden_layers": (1, "they have layers that it does not have"),
    "intermediate_size": (48, "has the size 32, and should have 48 ("),
    "vocab_size": (27, "has the size 20 × 16, and should have 27 × 16"),
}
TAGS = {language.tag for language in LANGUAGES}
LACKING = {
    "NLLB": {"quz"},
    "M2M_100": {"quz", "mi", "te"},
    "MBART_50": {"quz", "mi", "da", "el", "hu", "no"},
    "PALIGEMMA": {"quz"},
}


def caption(captioner: Captioner) -> str:
    prepared = [captioner.prepare(Image.new("RGB", (50, 40), "red"))]
    (said,) = captioner.caption(prepared, keys=["a"], language="en", decoding=Decoding(max_tokens=8))
    assert isinstance(said, GeneratedCaption)
    return said.text


def refused(source="blip", is_pivot=False, *, backend=BACKEND, **options) -> str:
    with pytest.raises(BackendSettingsError) as refusal:
        backend.check(ModelSpec(source, source, options, is_pivot))
    return str(refusal.value)


@pytest.fixture
def bare(models) -> Iterator[Path]:
    """A folder of its own among the models."""
    folder = shutil.copytree(models / "blip", models / "bare")
    yield folder
    shutil.rmtree(folder)


@needs_torch
def test_a_folder_that_is_not_whole_is_refused_with_what_is_missing(bare, settings):
    BACKEND.check(ModelSpec("bare", "bare", {}))
    (bare / "model.safetensors").rename(bare / "pytorch_model.bin")
    assert "ask the operator to set PICKLED_WEIGHTS" in refused("bare")
    assert "ask the operator to set PICKLED_WEIGHTS" in refused("bare", allow_pickled_weights=True)
    settings.PICKLED_WEIGHTS = True
    assert "set the option" in refused("bare")
    BACKEND.check(ModelSpec("bare", "bare", {"allow_pickled_weights": True}))
    (bare / "pytorch_model.bin").unlink()
    assert "no weights" in refused("bare")
    (bare / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    (bare / "model.safetensors").touch()
    assert "of the kind bert" in refused("bare")
    (bare / "config.json").write_text("{", encoding="utf-8")
    assert "config.json in “bare” cannot be read" in refused("bare")
    (bare / "config.json").unlink()
    assert "config.json is missing" in refused("bare")
    assert "Available: " in refused("nowhere")


@needs_torch
def test_weights_that_are_broken_or_missing_are_refused_when_loaded(bare):
    from safetensors.torch import load_file, save_file

    weights = load_file(bare / "model.safetensors")
    lacking = {name: one for name, one in weights.items() if "crossattention" not in name}
    save_file(lacking, bare / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BackendSettingsError, match=r"lacks \d+ weights"):
        BACKEND.load(ModelSpec("bare", "bare", {}))
    BACKEND.load(ModelSpec("bare", "bare", {"allow_missing_weights": True}))
    (bare / "model.safetensors").write_bytes(b"half a file")
    with pytest.raises(BackendSettingsError, match="cannot be loaded by transformers"):
        BACKEND.load(ModelSpec("bare", "bare", {}))


@needs_torch
@pytest.mark.parametrize("name", OF_BLIP)
def test_weights_that_do_not_belong_to_the_config_are_refused_by_name(bare, name):
    config = json.loads((bare / "config.json").read_text(encoding="utf-8"))
    value, said = OF_BLIP[name]
    config["text_config"][name] = value
    (bare / "config.json").write_text(json.dumps(config), encoding="utf-8")

    for options in ({}, {"allow_missing_weights": True}):
        with pytest.raises(BackendSettingsError) as refusal:
            BACKEND.load(ModelSpec("bare", "bare", options))
        assert "The weights of “bare” do not belong to its config.json" in str(refusal.value)
        assert said in str(refusal.value)
        assert "Use the config.json that came with the weights" in str(refusal.value)


@needs_torch
def test_pickled_weights_are_loaded_where_the_operator_and_the_options_trust_them(bare, settings):
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(bare / "model.safetensors"), bare / "pytorch_model.bin")
    (bare / "model.safetensors").unlink()
    for is_allowed, options in ((False, {}), (False, {"allow_pickled_weights": True}), (True, {})):
        settings.PICKLED_WEIGHTS = is_allowed
        with pytest.raises(BackendSettingsError, match="pickles"):
            BACKEND.load(ModelSpec("bare", "bare", options))

    settings.PICKLED_WEIGHTS = True
    trusted = BACKEND.load(ModelSpec("bare", "bare", {"allow_pickled_weights": True}))
    assert caption(trusted) == caption(BACKEND.load(ModelSpec("blip", "blip", {})))


@pytest.mark.long(reason="at least three others run each of its lines")
@needs_torch
def test_code_that_lies_among_the_files_is_never_run(bare):
    config = json.loads((bare / "config.json").read_text(encoding="utf-8"))
    ours = {"AutoConfig": "evil.Config", "AutoModelForImageTextToText": "evil.Model", "AutoProcessor": "evil.Processor"}
    (bare / "evil.py").write_text("raise SystemExit('run')", encoding="utf-8")
    (bare / "config.json").write_text(json.dumps({**config, "auto_map": ours}), encoding="utf-8")

    # What transformers knows itself is taken from there.
    assert caption(BACKEND.load(ModelSpec("bare", "bare", {}))) == caption(BACKEND.load(ModelSpec("blip", "blip", {})))


@pytest.mark.parametrize(
    "source", ["../etc", "/etc", "a/b", "a/b@main", "", ".hidden", "..", "a\nb", f"a/b@{COMMIT}0", f"../b@{COMMIT}"]
)
def test_sources_that_are_no_name_and_no_commit_of_the_hub_are_refused(source):
    assert "neither a folder" in refused(source)


@pytest.mark.parametrize(
    ("backend", "options", "said"),
    [
        (BACKEND, {"promts": {}}, "no option “promts”"),
        (BACKEND, {"prompts": "a"}, "“prompts” cannot be"),
        (BACKEND, {"prompts": {"de": "ein"}}, "has de, which the model does not have"),
        (BACKEND, {"prompts": {"en": 3}}, "a text for each language"),
        (BACKEND, {"batch_size": 0}, "“batch_size” cannot be 0"),
        (BACKEND, {"batch_size": True}, "“batch_size” cannot be true"),
        (BACKEND, {"languages": {"de": 3}}, "“languages” like this"),
        (BACKEND, {"languages": {}}, "“languages” like this"),
        (ChatBackend(), {"prompt": "Describe this picture."}, "{code} or {language} in the option “prompt”"),
        (ChatBackend(), {"template": "USER: <image>"}, "{prompt} in the option “template”"),
        (ChatBackend(), {"prompts": {"tlh": "nuqneH"}}, "has tlh, which the model does not have"),
        (ChatBackend(), {"side": 0}, "“side” cannot be 0"),
    ],
)
def test_options_that_are_not_understood_are_refused_where_no_model_need_be(tmp_path, settings, backend, options, said):
    settings.MODELS_FOLDER = tmp_path / "not-here"
    assert said in refused("anything", backend=backend, **options)


def test_prompts_name_the_language_or_its_code():
    spec = ModelSpec("x", "x", {})
    assert prompt_of(spec, "paligemma", "he", "he") == "caption he"
    assert prompt_of(spec, "llava", "quz", "quz") == "Describe this picture in one sentence in Cusco Quechua."
    assert prompt_of(spec, "paligemma", "", "") == "caption"
    ours = ModelSpec("x", "x", {"prompt": "In {language} ({code}):", "prompts": {"fr": "En français :"}})
    assert prompt_of(ours, "llava", "de", "ger") == "In German (ger):"
    assert prompt_of(ours, "llava", "fr", "fr") == "En français :"
    assert prompt_of(ours, "llava", "ca", "Catalan") == "In Catalan (Catalan):"


def test_text_is_in_nfc_on_one_line_and_ends_with_a_whole_character():
    cleaned = generation.caption_or_failure
    assert cleaned(" un cafe\u0301\n noir \ufffd\ufffd") == GeneratedCaption("un café noir")
    assert isinstance(cleaned(" \n\ufffd"), FailedImage)


@pytest.mark.parametrize(
    "decoding",
    [
        *(Decoding(beams=2, temperature=0.5), Decoding(beams=0), Decoding(temperature=-1.0), Decoding(top_p=0.0)),
        *(Decoding(max_tokens=3, min_tokens=4), Decoding(precision="float8")),
    ],
)
def test_decoding_that_cannot_be_is_refused(decoding):
    with pytest.raises(BackendSettingsError):
        BACKEND.check_decoding(ModelSpec("x", "x", {}), decoding)


@pytest.fixture
def bare_platform(settings, tmp_path, monkeypatch) -> None:
    """Neither the folder of models nor the packages that load them."""
    settings.MODELS_FOLDER = tmp_path / "not-here"
    for name in ("torch", "transformers", "huggingface_hub"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("source", ["blip", f"Salesforce/blip@{COMMIT}"])
def test_without_packages_and_without_the_folder_what_can_be_said_is_said(bare_platform, source):
    spec = ModelSpec("x", source, {"languages": {"de": "de"}})
    BACKEND.check(spec)
    assert BACKEND.languages(spec) == {"de": "de"}
    assert BACKEND.languages(ModelSpec("x", source, {})) == {"en": "en"}
    assert "of the kind bert" in refused(source, family="bert")
    with pytest.raises(ExtraMissingError, match=r"pip install -r requirements/gpu\.txt"):
        BACKEND.load(spec)


@pytest.mark.parametrize("source", ["nllb", f"facebook/nllb-200-distilled-600M@{COMMIT}"])
def test_without_them_the_family_of_a_translator_has_to_be_said(bare_platform, source):
    backend = Seq2SeqBackend()
    assert "Say what it is" in refused(source, backend=backend)
    assert backend.languages(ModelSpec("x", source, {"family": "nllb"}))["fil"] == "tgl_Latn"
    assert "which languages it translates into" in refused(source, backend=backend, family="marian")
    assert "This backend runs: nllb, m2m_100" in refused(source, backend=backend, family="bart")


@needs_torch
def test_a_model_of_the_hub_that_cannot_be_reached_is_refused(monkeypatch, tmp_path):
    import huggingface_hub

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert huggingface_hub
    with pytest.raises(BackendSettingsError, match="cannot be fetched from the hub"):
        BACKEND.load(ModelSpec("x", f"owner/name@{COMMIT}", {}))


@needs_torch
def test_a_model_of_the_hub_is_loaded_at_its_commit(monkeypatch, models):
    asked_for = []

    def fetch(name, **named):
        asked_for.append((name, named["revision"], named["allow_patterns"]))
        return str(models / "git")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    monkeypatch.setattr(transformer_files, "_cached", lambda name, revision: models / "git")
    captioner = BACKEND.load(ModelSpec("x", f"owner/name@{COMMIT}", {}))

    assert caption(captioner) == caption(BACKEND.load(ModelSpec("git", "git", {})))
    assert captioner.describe()["revision"] == COMMIT
    ((name, revision, patterns),) = asked_for
    assert (name, revision) == ("owner/name", COMMIT)
    assert not {"*.py", "*.bin"} & set(patterns)


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
