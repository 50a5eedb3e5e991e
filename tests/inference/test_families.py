"""BLIP-2 and Florence-2, which are asked without a chat template, and SigLIP 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from research.inference.backends.captioners import Decoding, ModelSpec
from research.inference.backends.chat import ChatBackend
from research.inference.backends.dual_encoder import DualEncoderBackend
from tests.inference import captioned, tiny_families
from tests.inference.captioned import DECODINGS, noise, with_decodings
from tests.tiers import some
from tests.torch_extra import needs_torch

pytestmark = needs_torch

BACKEND = ChatBackend()
NAMES = ("florence_2", "blip_2", "blip_2_t5", "siglip_2")
FAMILIES = pytest.mark.parametrize(
    "name", some(NAMES[:3], short=1, reason="that each is asked as it should be, two other tests say")
)
PROMPTS = {"blip_2": "", "blip_2_t5": "", "florence_2": "<CAPTION>"}
GERMAN = {"languages": {"en": "en", "de": "de"}, "prompts": {"de": "blue house"}}
IMAGES = noise(((40, 50), (100, 160), (200, 60), (33, 32), (90, 90)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("families")
    for name in NAMES:
        getattr(tiny_families, f"save_{name}")(root / name)
    return root


def loaded(name, is_pivot=False, **options):
    return BACKEND.load(ModelSpec(name, name, options, is_pivot))


def captions(captioner, *arguments, **about) -> list[str]:
    return captioned.captions(captioner, IMAGES, *arguments, **about)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("name", some(NAMES[:3], short=2, reason="BLIP-2 with T5 is asked as BLIP-2"))
def test_a_model_says_what_its_makers_code_says(models, name):
    import torch
    import transformers

    model = transformers.AutoModelForImageTextToText.from_pretrained(models / name).eval()
    processor = transformers.AutoProcessor.from_pretrained(models / name)
    expected = []
    for image in IMAGES:
        inputs = processor(text=[PROMPTS[name]], images=[image], return_tensors="pt")
        # Florence-2 begins its answer with a token that is no word.
        longest = 9 if name == "florence_2" else 8
        with torch.inference_mode():
            tokens = model.generate(**inputs, max_new_tokens=longest, num_beams=1, do_sample=False)[0]
        answer = tokens[inputs["input_ids"].shape[1] :] if name == "blip_2" else tokens
        expected.append(processor.tokenizer.decode(answer, skip_special_tokens=True).strip())

    written = captions(loaded(name), Decoding(max_tokens=8, precision="float32"))

    assert [text if text != "The model wrote nothing." else "" for text in written] == expected
    assert len(set(written)) >= 3


@pytest.mark.parametrize(("name", "how"), with_decodings(NAMES[:3], "drawn"))
def test_a_caption_does_not_depend_on_what_else_is_in_the_batch(models, name, how):
    captioner = loaded(name, **GERMAN)

    for language in ("en", "de"):
        together = captions(captioner, DECODINGS[how], language=language)
        assert [captions(captioner, DECODINGS[how], chosen=[one], language=language)[0] for one in (1, 3)] == [
            together[one] for one in (1, 3)
        ]


@FAMILIES
def test_they_write_english_and_languages_with_a_prompt_of_their_own(models, name):
    assert dict(BACKEND.languages(ModelSpec(name, name, {}))) == {"en": "en"}
    captioner = loaded(name, **GERMAN)

    assert captions(captioner) == captions(loaded(name))
    assert captions(captioner, language="de") != captions(captioner)


@pytest.mark.long(reason="at least three others run each of its lines")
@FAMILIES
def test_captions_after_a_held_stabiliser_are_what_the_model_would_have_gone_on_with(models, name):
    free = captions(loaded(name))
    longer = [one for one, text in enumerate(free) if len(text.split()) >= 5]
    for one in longer[:2]:
        words = free[one].split()
        captioner = loaded(name, is_pivot=True, separators={"en": words[2]})
        stabilisers = ["red", "red red", "red", "red red red", "red"]
        stabilisers[one] = " ".join(words[:2])
        together = captions(captioner, Decoding(max_tokens=5), stabilisers=stabilisers)
        assert together[one] == " ".join(words[3:])
    assert longer


def test_images_of_any_shape_and_captions_have_the_vectors_of_siglip_2s_makers(models):
    import torch
    import transformers

    encoder = DualEncoderBackend().load(ModelSpec("siglip_2", "siglip_2", {}))
    model = transformers.AutoModel.from_pretrained(models / "siglip_2").eval()
    processor = transformers.AutoProcessor.from_pretrained(models / "siglip_2")
    sentences = ["a red dog runs", "the cat"]
    with torch.inference_mode():
        seen = [
            model.get_image_features(**processor(images=[image], max_num_patches=16, return_tensors="pt"))
            for image in IMAGES
        ]
        read = model.get_text_features(
            **processor(text=sentences, padding="max_length", max_length=16, return_tensors="pt")
        )

    expected = np.concatenate([one.pooler_output.numpy() for one in seen])
    features = encoder.features(IMAGES)
    assert np.allclose(features, expected, atol=1e-5)
    assert np.allclose(np.concatenate([encoder.features([image]) for image in IMAGES]), features, atol=1e-5)
    assert np.allclose(encoder.vectors(sentences), read.pooler_output.numpy(), atol=1e-5)
    assert len(np.unique(np.round(features, 4), axis=0)) == len(IMAGES)
