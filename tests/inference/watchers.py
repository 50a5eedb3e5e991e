"""What test_torchvision.py runs in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from research.inference.backends.captioners import ModelSpec
from tests.inference import tiny_watchers
from tests.inference.captioned import KEYS, SHORT, texts
from tests.inference.test_chat_models import BACKEND, images

NAMES = ("qwen2_vl", "qwen3_vl", "llava_onevision", "internvl", "smolvlm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("watchers")
    for name in NAMES:
        getattr(tiny_watchers, f"save_{name}")(root / name)
    return root


@pytest.mark.parametrize("name", NAMES)
def test_a_model_says_what_its_makers_code_says_whatever_else_is_in_the_batch(folder, settings, name):
    import torch
    import transformers

    settings.MODELS_FOLDER = folder
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder / name).eval()
    processor = transformers.AutoProcessor.from_pretrained(folder / name)
    about = [{"type": "image"}, {"type": "text", "text": "Describe this picture in one sentence in English."}]
    text = processor.apply_chat_template([{"role": "user", "content": about}], add_generation_prompt=True)
    expected = []
    for image in images():
        inputs = processor(text=[text], images=[image], return_tensors="pt")
        with torch.inference_mode():
            tokens = model.generate(**inputs, max_new_tokens=8, do_sample=False)
        answer = tokens[0, inputs["input_ids"].shape[1] :]
        expected.append(processor.tokenizer.decode(answer, skip_special_tokens=True).strip())

    captioner = BACKEND.load(ModelSpec(name, name, {"prompts": {"de": "dog cat boat house runs"}}))
    prepared = [captioner.prepare(image) for image in images()]
    captions = captioner.caption(prepared, keys=KEYS, language="en", decoding=SHORT)

    assert texts(captions) == expected
    assert len(set(expected)) >= 3
    in_german = captioner.caption(prepared, keys=KEYS, language="de", decoding=SHORT)
    alone = [captioner.caption([one], keys=KEYS[:1], language="de", decoding=SHORT)[0] for one in prepared]
    assert in_german == alone
    assert texts(in_german) != expected
