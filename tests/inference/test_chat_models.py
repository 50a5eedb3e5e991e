"""Models that are asked for a caption: PaliGemma, LLaVA, and Idefics, whose prompts depend on the image."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from research.inference.backends.captioners import (
    BackendSettingsError,
    Decoding,
    FailedImage,
    GeneratedCaption,
    ModelSpec,
)
from research.inference.backends.chat import ChatBackend, prompt_of
from tests.inference import captioned, tiny_models
from tests.inference.captioned import DECODINGS, KEYS, SHORT, noise, with_decodings
from tests.tiers import some
from tests.torch_extra import needs_torch

pytestmark = [
    # In PaliGemma's processor, which is not ours.
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    needs_torch,
]

BACKEND = ChatBackend()
NAMES = ("idefics3", "paligemma", "llava")
FAMILIES = pytest.mark.parametrize(
    "name", some(NAMES, short=1, reason="that each is asked as it should be, two other tests say")
)
SIZES = ((40, 50), (100, 160), (200, 60), (33, 32), (90, 90))


def loaded(name, is_pivot=False, **options):
    return BACKEND.load(ModelSpec(name, name, options, is_pivot))


def images() -> list[Image.Image]:
    """Of several shapes: some models see large ones in parts."""
    return noise(SIZES)


def captions(captioner, *arguments, **about) -> list[str]:
    return captioned.captions(captioner, images(), *arguments, **about)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("paligemma", "<image>caption en"),
        ("llava", "user : <image> Describe this picture in one sentence in English. assistant : "),
        ("idefics3", "user : <image> Describe this picture in one sentence in English. assistant : "),
    ],
)
def test_a_model_is_asked_as_its_makers_say_and_only_the_answer_is_the_caption(models, name, text):
    import torch
    import transformers

    model = transformers.AutoModelForImageTextToText.from_pretrained(models / name).eval()
    processor = transformers.AutoProcessor.from_pretrained(models / name)
    expected = []
    for image in images():
        inputs = processor(text=[text], images=[[image]], return_tensors="pt")
        with torch.inference_mode():
            tokens = model.generate(**inputs, max_new_tokens=8, do_sample=False)
        answer = tokens[0, inputs["input_ids"].shape[1] :]
        expected.append(processor.tokenizer.decode(answer, skip_special_tokens=True).strip())

    written = captions(loaded(name))

    assert written == expected
    assert len(set(written)) >= 3


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(("name", "how"), with_decodings(NAMES, "greedy"))
def test_a_caption_does_not_depend_on_what_else_is_in_the_batch(models, name, how):
    captioner = loaded(name)

    together = captions(captioner, DECODINGS[how])

    assert captions(captioner, DECODINGS[how], chosen=[3, 0, 4, 1, 2]) == [together[one] for one in (3, 0, 4, 1, 2)]
    assert [captions(captioner, DECODINGS[how], chosen=[one])[0] for one in range(5)] == together


@pytest.mark.long(reason="at least three others run each of its lines")
@FAMILIES
def test_each_language_has_its_prompt(models, name):
    captioner = loaded(name)

    assert captions(captioner, language="de") != captions(captioner)
    # A prompt that is the English one makes the same captions.
    in_english = prompt_of(ModelSpec(name, name, {}), name, "en", "en")
    assert captions(loaded(name, prompts={"de": in_english}), language="de") == captions(captioner)


@FAMILIES
def test_captions_after_a_held_stabiliser_are_what_the_model_would_have_gone_on_with(models, name):
    decoding = Decoding(max_tokens=5)
    free = captions(loaded(name))
    whole = [one for one, text in enumerate(free) if len(text.split()) == 8]
    for one in whole[:2]:
        words = free[one].split()
        captioner = loaded(name, is_pivot=True, separators={"en": words[2]})
        stabilisers = [" ".join(["red"] * length) for length in (1, 2, 3, 1, 2)]
        stabilisers[one] = " ".join(words[:2])

        together = captions(captioner, decoding, stabilisers=stabilisers)

        assert [
            captions(captioner, decoding, chosen=[other], stabilisers=stabilisers)[0] for other in range(5)
        ] == together
        assert together[one] == " ".join(words[3:])
    assert len(whole) >= 2


@FAMILIES
def test_a_stabiliser_is_asked_for_in_no_language_and_ends_at_the_first_separator(models, name):
    in_none = prompt_of(ModelSpec(name, name, {}), name, "", "")
    free = captions(loaded(name, prompts={"en": in_none}))
    one = max(range(5), key=lambda number: len(free[number].split()))
    words = free[one].split()
    captioner = loaded(name, is_pivot=True, separators={"de": f" {words[2]} "})
    prepared = [captioner.prepare(image) for image in images()]

    stabilisers = captioner.stabilise(prepared, keys=KEYS, decoding=SHORT)

    assert stabilisers[one] == " ".join(words[:2])


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_pivot_models_answer_is_split(models):
    free = captions(loaded("paligemma"))
    separator = next(text.split()[3] for text in free if len(text.split()) == 8)
    captioner = loaded("paligemma", is_pivot=True, separators={"en": f" {separator} "})
    prepared = [captioner.prepare(image) for image in images()]

    # Stabiliser and caption together may be as long as two captions.
    written = captioner.caption(prepared, keys=KEYS, language="en", decoding=Decoding(max_tokens=4))

    for text, one in zip(free, written, strict=True):
        stabiliser, is_there, caption = text.partition(f" {separator} ")
        assert one == GeneratedCaption(caption, stabiliser) if is_there else isinstance(one, FailedImage)
    assert any(isinstance(one, GeneratedCaption) for one in written)


@pytest.mark.long(reason="at least three others run each of its lines")
@FAMILIES
def test_images_are_prepared_in_threads_as_one_by_one(models, name):
    captioner = loaded(name)
    shown = images() * 8
    with ThreadPoolExecutor(4) as threads:
        ahead = list(threads.map(captioner.prepare, shown))

    keys = [str(number) for number in range(len(shown))]
    captions = captioner.caption(ahead, keys=keys, language="en", decoding=Decoding(max_tokens=4))
    assert captions[:5] * 8 == captions


@pytest.mark.parametrize("name", ["paligemma", "llava"])
def test_captions_that_cannot_fit_after_the_prompt_are_refused(models, name):
    captioner = loaded(name)
    left = captioner.positions
    assert left is not None

    captioner.check_length(["en", "de"], Decoding(max_tokens=left))
    with pytest.raises(
        BackendSettingsError, match=r"The model has positions for .* Set the maximum number of tokens to"
    ):
        captioner.check_length(["en", "de"], Decoding(max_tokens=left + 50))


def test_how_large_images_need_to_be_is_said(models):
    assert loaded("llava").side == 2 * tiny_models.SIDE
    assert loaded("idefics3").side == 1024
    assert loaded("idefics3", side=300).describe()["side"] == "300 pixels"


def test_a_template_stands_in_for_a_chat_template_and_is_asked_for_where_there_is_none(models, tmp_path, settings):
    settings.MODELS_FOLDER = tmp_path
    bare = shutil.copytree(models / "llava", tmp_path / "bare")
    (bare / "chat_template.jinja").unlink()
    with pytest.raises(BackendSettingsError, match="no chat template"):
        BACKEND.check(ModelSpec("bare", "bare", {}))

    template = "user : <image> {prompt} assistant : "
    written = captions(loaded("bare", template=template))
    settings.MODELS_FOLDER = models
    assert written == captions(loaded("llava"))


def test_a_template_that_writes_the_first_token_itself_does_not_get_two(models):
    once = loaded("llava", template="<s> user : <image> {prompt} assistant : ")

    assert captions(once) == captions(loaded("llava"))


def test_what_the_models_are_decides_their_languages(models):
    tags = set(BACKEND.languages(ModelSpec("x", "llava", {})))

    assert len(tags) == 36
    assert tags - set(BACKEND.languages(ModelSpec("x", "paligemma", {}))) == {"quz"}
    assert BACKEND.languages(ModelSpec("x", "paligemma", {"languages": {"quz": "quz"}})) == {"quz": "quz"}
    assert BACKEND.languages(ModelSpec("x", "llava", {"languages": ["de", "fr"]})) == {"de": "de", "fr": "fr"}


def test_a_language_that_turns_out_not_to_be_one_of_the_model_is_refused(models):
    captioner = loaded("paligemma")

    with pytest.raises(BackendSettingsError, match="not known to write quz"):
        captions(captioner, language="quz")


def test_a_model_whose_processor_cannot_be_used_is_refused_when_it_is_loaded(models, tmp_path, settings):
    settings.MODELS_FOLDER = tmp_path
    broken = shutil.copytree(models / "llava", tmp_path / "broken")
    (broken / "chat_template.jinja").write_text("{{ raise_exception('nothing to say') }}", encoding="utf-8")

    with pytest.raises(BackendSettingsError, match="“broken” cannot be loaded by transformers: nothing to say"):
        loaded("broken")


def test_models_of_the_other_backend_are_sent_there(models, tmp_path, settings):
    settings.MODELS_FOLDER = tmp_path
    tiny_models.save_git(tmp_path / "git")

    with pytest.raises(BackendSettingsError, match="Use the backend encoder-decoder"):
        BACKEND.check(ModelSpec("git", "git", {}))
