"""Models that see an image and write, made from configurations and loaded by the code that loads real ones."""

from __future__ import annotations

import importlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image, ImageFilter

from research.inference.backends.captioners import (
    BackendSettingsError,
    Decoding,
    FailedImage,
    GeneratedCaption,
    ModelSpec,
    OutOfMemoryError,
)
from research.inference.backends.encoder_decoder import EncoderDecoderBackend
from tests.inference import captioned, tiny_models
from tests.inference.captioned import SHORT, noise, with_decodings
from tests.tiers import some
from tests.torch_extra import needs_torch

pytestmark = [needs_torch, pytest.mark.usefixtures("models")]

BACKEND = EncoderDecoderBackend()
NAMES = ("git", "blip", "vit_gpt2")
FAMILIES = pytest.mark.parametrize(
    "name", some(NAMES, short=1, reason="that each says what it should, two other tests say")
)


def tiny(name, is_pivot=False, **options):
    return BACKEND.load(ModelSpec(name, name, options, is_pivot))


def images(number: int = 5) -> list[Image.Image]:
    return noise([(50, 40)] * number)


def captions(captioner, *arguments, **about) -> list[str]:
    return captioned.captions(captioner, images(), *arguments, **about)


def longest(captions: list[str]) -> int:
    return max(range(len(captions)), key=lambda one: len(captions[one].split()))


DECODINGS = captioned.DECODINGS | {"beams": Decoding(max_tokens=8, beams=3, length_penalty=0.5)}


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_says_what_transformers_makes_of_it_itself(models, name):
    import torch
    import transformers

    kind = "VisionEncoderDecoderModel" if name == "vit_gpt2" else "AutoModelForImageTextToText"
    model = getattr(transformers, kind).from_pretrained(models / name).eval()
    seen = transformers.AutoImageProcessor.from_pretrained(models / name)(images=images(), return_tensors="pt")
    tokenizer = transformers.AutoTokenizer.from_pretrained(models / name)
    with torch.inference_mode():
        tokens = model.generate(pixel_values=seen["pixel_values"], max_new_tokens=8, num_beams=1, do_sample=False)

    written = captions(tiny(name))

    assert written == tokenizer.batch_decode(tokens, skip_special_tokens=True)
    assert len(set(written)) >= 4


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(("name", "how"), with_decodings(NAMES, "beams"))
def test_a_caption_does_not_depend_on_what_else_is_in_the_batch(name, how):
    captioner = tiny(name, prompts={"en": "a red"})

    together = captions(captioner, DECODINGS[how])

    assert captions(captioner, DECODINGS[how], chosen=[3, 0, 4, 1, 2]) == [together[one] for one in (3, 0, 4, 1, 2)]
    assert [captions(captioner, DECODINGS[how], chosen=[one])[0] for one in range(5)] == together


def test_seed_image_and_language_decide_what_is_drawn_and_greedy_captions_do_not_depend_on_them():
    captioner = tiny("git", languages={"en": "en", "de": "de"})
    drawn = DECODINGS["drawn"]

    assert captions(captioner, drawn) == captions(captioner, drawn)
    assert captions(captioner, drawn) != captions(captioner, Decoding(**{**drawn.stored(), "seed": 5}))
    assert captions(captioner, drawn) != captions(captioner, drawn, language="de")
    assert captions(captioner) == captions(captioner, Decoding(max_tokens=8, seed=5), language="de")


@pytest.mark.long(reason="at least three others run each of its lines")
@FAMILIES
def test_a_prompt_begins_the_caption_and_is_not_in_it(name):
    free = captions(tiny(name))
    one = longest(free)
    words = free[one].split()

    prompted = captions(tiny(name, prompts={"en": " ".join(words[:2])}), Decoding(max_tokens=6), chosen=[one])

    # What the model would have said itself is what it goes on from.
    assert prompted == [" ".join(words[2:])]
    assert captions(tiny(name, prompts={"en": "blue dog"})) != free


@pytest.mark.long(reason="at least three others run each of its lines")
def test_captions_are_as_long_as_asked_for_and_beams_and_penalties_change_them():
    captioner = tiny("vit_gpt2")

    assert max(len(one.split()) for one in captions(tiny("git"), Decoding(max_tokens=3))) == 3
    shortest = Decoding(max_tokens=20, min_tokens=15, temperature=2.0)
    assert min(len(one.split()) for one in captions(captioner, shortest)) >= 14
    assert captions(captioner, DECODINGS["beams"]) != captions(captioner)
    git = tiny("git")
    blue = [git.prepare(Image.new("RGB", (50, 40), "blue"))]
    penalties = [Decoding(max_tokens=20, beams=4, length_penalty=penalty) for penalty in (-4.0, 4.0)]
    shorter, longer = (len(git.caption(blue, keys=["a"], language="en", decoding=one)[0].text) for one in penalties)
    assert shorter < longer


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_a_checkpoint_says_of_decoding_does_not_decide(models):
    altered = shutil.copytree(models / "git", models / "altered")
    said = {"do_sample": True, "temperature": 9.0, "top_k": 3, "num_beams": 4, "max_length": 3, "min_length": 9}
    config = json.loads((altered / "generation_config.json").read_text(encoding="utf-8"))
    (altered / "generation_config.json").write_text(json.dumps({**config, **said}), encoding="utf-8")

    assert captions(tiny("altered")) == captions(tiny("git"))


def test_precision_is_that_of_the_run_and_rounding_for_one_does_not_touch_the_next():
    import torch

    captioner = tiny("blip")
    exact = captions(captioner)

    captions(captioner, Decoding(max_tokens=8, precision="bfloat16"))
    assert captioner._loaded.at("bfloat16").dtype == torch.bfloat16
    assert captions(captioner, Decoding(max_tokens=8, precision="float32")) == exact
    assert captioner._loaded.at("auto").dtype == torch.float32


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_a_model_is_can_be_told_from_its_description(models):
    about = tiny("blip").describe()

    assert about["architecture"] == "BlipForConditionalGeneration"
    assert about["parameters"].replace(",", "").isdecimal()
    assert "float32" in about["precision"]
    assert "transformers" in about["versions"]
    assert about["files"] == tiny("blip").describe()["files"]
    altered = shutil.copytree(models / "blip", models / "another")
    (altered / "config.json").write_text((altered / "config.json").read_text() + " ", encoding="utf-8")
    assert tiny("another").describe()["files"] != about["files"]


@pytest.mark.long(reason="at least three others run each of its lines")
@FAMILIES
def test_images_are_prepared_in_threads_as_one_by_one(name):
    import torch

    captioner = tiny(name)
    shown = images() * 20
    with ThreadPoolExecutor(4) as threads:
        ahead = list(threads.map(captioner.prepare, shown))

    assert all(torch.equal(one, captioner.prepare(image)) for one, image in zip(ahead, shown, strict=True))


def test_images_made_smaller_ahead_look_the_same_to_the_model():
    captioner = tiny("blip")
    noise = np.random.default_rng(1).integers(0, 255, (400, 500, 3), dtype=np.uint8)
    large = Image.fromarray(noise).filter(ImageFilter.GaussianBlur(3))
    small = large.resize((captioner.side, captioner.side), Image.Resampling.LANCZOS)

    whole, ahead = (captioner.prepare(image) for image in (large, small))

    assert captioner.side == 2 * tiny_models.SIDE
    # In standard deviations of the colours: 0.02 is one level of 256.
    assert (whole - ahead).abs().mean() < 0.02


OUT_OF_MEMORY = {
    "of Python": MemoryError,
    "of PyTorch": lambda: RuntimeError("DefaultCPUAllocator: not enough memory: you tried"),
    "of a GPU": lambda: importlib.import_module("torch").cuda.OutOfMemoryError("CUDA out of memory. Tried 2.00 GiB."),
}


@pytest.mark.parametrize("make", OUT_OF_MEMORY.values(), ids=OUT_OF_MEMORY)
def test_memory_that_runs_out_is_told_from_other_errors(monkeypatch, make):
    captioner, error = tiny("git"), make()

    def fail(*_arguments, **_named):
        raise error

    monkeypatch.setattr(type(captioner._loaded.at("auto")), "generate", fail)
    with pytest.raises(OutOfMemoryError):
        captions(captioner)
    error = RuntimeError("shapes do not fit")
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        captions(captioner)


# Pivot-stabilised models

CHAINS = ("a dog <de> ein hund", "french: red house <fr> une maison")
PIVOT = {"languages": {"de": "de", "fr": "fr"}, "prompts": {"fr": "french:"}}


@pytest.fixture(scope="module")
def chain(folder):
    tiny_models.save_chain(folder / "chain", CHAINS)


def pivot(**options):
    return BACKEND.load(ModelSpec("chain", "chain", {**PIVOT, **options}, is_pivot=True))


def asked(captioner, language, stabilisers=None):
    prepared = [captioner.prepare(image) for image in images(2)]
    keys = ["a", "b"]
    return captioner.caption(prepared, keys=keys, language=language, decoding=SHORT, stabilisers=stabilisers)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_pivot_models_output_is_split_at_the_separator_of_the_language(chain):
    assert asked(pivot(), "de") == [GeneratedCaption("ein hund", "a dog")] * 2
    assert asked(pivot(), "fr") == [GeneratedCaption("une maison", "red house")] * 2
    assert asked(pivot(separators={"fr": "<fr>"}), "fr", ["a dog"] * 2) == [GeneratedCaption("une maison", "a dog")] * 2
    assert asked(pivot(separators={"de": " dog <de> "}), "de") == [GeneratedCaption("ein hund", "a")] * 2


def test_output_without_the_separator_of_the_language_fails(chain):
    failed = asked(pivot(prompts={"de": "french:"}), "de")

    assert all(isinstance(one, FailedImage) and "separator" in one.reason for one in failed)
    assert "maison" not in failed[0].reason


def test_without_a_prompt_that_names_the_language_the_separator_does(chain):
    captioner = pivot(prompts={})

    assert asked(captioner, "de") == [GeneratedCaption("ein hund", "a dog")] * 2
    assert asked(captioner, "fr") == [GeneratedCaption("une maison", "a dog")] * 2
    short = Decoding(max_tokens=2)
    prepared = [captioner.prepare(image) for image in images(1)]
    (failed,) = captioner.caption(prepared, keys=["a"], language="fr", decoding=short)
    assert isinstance(failed, FailedImage), "stabiliser and separator may leave no positions for the caption"


def test_a_stabiliser_is_decoded_without_a_language_and_then_held_fixed(chain):
    captioner = pivot()
    prepared = [captioner.prepare(image) for image in images(2)]

    assert captioner.stabilise(prepared, keys=["a", "b"], decoding=SHORT) == ["a dog"] * 2
    # Of several lengths in one batch: what is held fixed is what stands before the separator.
    held = ["a dog", "a house red dog"]
    assert asked(captioner, "fr", held) == [GeneratedCaption("une maison", one) for one in held]
    assert asked(captioner, "de", ["a dog", "red house"])[1] == GeneratedCaption("ein hund", "red house")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_separators_that_are_special_tokens_are_seen_although_they_are_no_text(chain, models):
    special = shutil.copytree(models / "chain", models / "special")
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(special)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<de>", "<fr>"]})
    tokenizer.save_pretrained(special)
    captioner = BACKEND.load(ModelSpec("special", "special", PIVOT, is_pivot=True))

    assert asked(captioner, "de") == [GeneratedCaption("ein hund", "a dog")] * 2
    assert asked(captioner, "fr", ["a", "a dog"]) == [GeneratedCaption("une maison", one) for one in ("a", "a dog")]


@pytest.mark.long(reason="at least three others run each of its lines")
@FAMILIES
def test_captions_after_a_held_stabiliser_are_what_the_model_would_have_gone_on_with(name):
    free = captions(tiny(name))
    one = longest(free)
    words = free[one].split()
    captioner = tiny(name, is_pivot=True, separators={"en": f" {words[2]} "})
    stabilisers = [" ".join(["red"] * length) for length in (1, 2, 3, 1, 2)]
    stabilisers[one] = " ".join(words[:2])
    decoding = Decoding(max_tokens=5)

    together = captions(captioner, decoding, stabilisers=stabilisers)

    assert together[one] == " ".join(words[3:])
    alone = [captions(captioner, decoding, chosen=[one], stabilisers=stabilisers)[0] for one in range(5)]
    assert alone == together


def test_only_models_registered_as_pivots_have_stabilisers():
    captioner = tiny("git")

    with pytest.raises(BackendSettingsError, match="not registered as pivot"):
        captioner.stabilise([captioner.prepare(images()[0])], keys=["a"], decoding=SHORT)
