"""Options that say how a model's weights are loaded: what they change, and what a worker needs for them."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import pytest

from research.inference.backends import generation
from research.inference.backends.captioners import BackendSettingsError, ModelSpec
from research.inference.backends.encoder_decoder import EncoderDecoderBackend
from tests.inference.captioned import KEYS, SHORT, texts
from tests.inference.test_chat_models import images
from tests.torch_extra import needs_torch

pytestmark = [pytest.mark.usefixtures("models"), needs_torch]
NAMES = ("vit_gpt2",)
BACKEND = EncoderDecoderBackend()


def captions_of(precision="auto", **options):
    captioner = BACKEND.load(ModelSpec("x", "vit_gpt2", options))
    prepared = [captioner.prepare(image) for image in images()]
    decoding = SHORT.__class__(**{**SHORT.stored(), "precision": precision})
    return texts(captioner.caption(prepared, keys=KEYS, language="en", decoding=decoding)), captioner


@pytest.mark.parametrize("precision", ["auto", "bfloat16"])
def test_a_model_that_is_spread_says_what_a_whole_one_does(precision):
    whole, _captioner = captions_of(precision)
    spread, captioner = captions_of(precision, device_map="auto")
    assert spread == whole
    assert captioner.describe()["device_map"] == "auto"


@pytest.mark.long(reason="compiling takes minutes on two cores")
@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler")
def test_a_compiled_model_says_what_another_does():
    whole, _captioner = captions_of()
    compiled, captioner = captions_of(compile=True)
    assert compiled == whole
    assert captioner.describe()["compile"] == "True"


@pytest.mark.parametrize(
    ("options", "lacks", "says"),
    [
        ({"quantisation": "4bit"}, "", "needs a GPU, and this worker has none"),
        ({"quantisation": "8bit"}, "bitsandbytes", "needs the package bitsandbytes on the worker"),
        ({"device_map": "auto"}, "accelerate", "needs the package accelerate on the worker"),
    ],
)
def test_what_a_worker_lacks_is_named(monkeypatch, options, lacks, says):
    monkeypatch.setattr(generation, "find_spec", lambda name: None if name == lacks else find_spec("json"))
    with pytest.raises(BackendSettingsError, match=says):
        BACKEND.load(ModelSpec("x", "vit_gpt2", options))


def test_compiling_on_a_cpu_needs_a_compiler(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(BackendSettingsError, match=r"needs a C\+\+ compiler"):
        BACKEND.load(ModelSpec("x", "vit_gpt2", {"compile": True}))


def test_a_model_that_the_device_has_no_room_for_is_whole_again_where_there_is_room(monkeypatch):
    import torch

    whole, captioner = captions_of()
    model, to = captioner._loaded, torch.nn.Module.to

    def full(self, place):
        if place == torch.bfloat16:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return to(self, place)

    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.Module, "to", full)
        with pytest.raises(BackendSettingsError, match=r"does not fit into the memory.*2.00 GiB"):
            model.at("bfloat16")

    prepared = [captioner.prepare(image) for image in images()]
    assert texts(captioner.caption(prepared, keys=KEYS, language="en", decoding=SHORT)) == whole


@pytest.mark.parametrize("options", [{"device_map": "cpu"}, {"quantisation": "2bit"}, {"compile": "yes"}])
def test_other_values_are_refused_when_the_model_is_registered(options):
    with pytest.raises(BackendSettingsError, match="cannot be"):
        BACKEND.check(ModelSpec("x", "vit_gpt2", options))


def test_a_model_that_is_spread_cannot_be_trained():
    _captions, captioner = captions_of(device_map="auto")
    with pytest.raises(BackendSettingsError, match="“device_map” cannot be trained"):
        _ = captioner.weights
