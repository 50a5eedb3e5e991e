"""Runs of tiny models of transformers through the platform: what is stored is what the models say."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from django.core.files.storage import default_storage
from PIL import Image as Pillow

from research.inference.backends import registry
from research.inference.backends.captioners import Decoding, GeneratedCaption, ModelSpec
from research.inference.backends.encoder_decoder import EncoderDecoder
from research.inference.models import ModelCaption, RunState, Stabiliser
from research.inference.services.models import register_model, register_translated_model, register_translator
from research.inference.services.steering import WorkRefusedError
from tests.inference import fake_runs, tiny_models
from tests.inference.embedded import painted_collection
from tests.inference.fake_runs import check_complete, counts, go, log_of
from tests.tiers import some
from tests.torch_extra import needs_torch

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("media", "models"),
    # What models say, which no database decides; how runs store it, tests/inference/test_runs.py tries.
    pytest.mark.sqlite,
    # In PaliGemma's processor, which is not ours.
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    needs_torch,
]

SHORT = Decoding(max_tokens=6)
NAMES = ("blip", "git", "vit_gpt2", "paligemma", "llava", "idefics3", "nllb", "m2m_100", "mbart_50")


begin = partial(fake_runs.begin, max_tokens=6)


def made_by(backend: str, name: str):
    return register_model(is_shared=True, name=name, backend=backend, source=name, options={}, by=None)


@pytest.mark.parametrize(
    ("backend", "name", "tags"),
    some(
        [
            ("encoder-decoder", "vit_gpt2", ["en"]),
            ("chat", "idefics3", ["en", "de"]),
            ("encoder-decoder", "blip", ["en"]),
            ("encoder-decoder", "git", ["en"]),
            ("chat", "paligemma", ["en", "de"]),
            ("chat", "llava", ["en", "de"]),
        ],
        short=2,
        reason="one model of each backend is among the first",
    ),
)
def test_what_is_stored_is_what_the_model_says_of_each_image_alone(backend, name, tags):
    collection = painted_collection(5)
    run = go(begin(made_by(backend, name), collection, *tags))

    check_complete(run)
    alone = registry.backend_named(backend).load(ModelSpec(name, name, {}))
    stored = ModelCaption.objects.filter(run=run)
    assert stored.count() == run.done == 5 * len(tags)
    for caption in stored.select_related("image"):
        with default_storage.open(caption.image.original) as file:
            prepared = [alone.prepare(Pillow.open(file).convert("RGB"))]
        (said,) = alone.caption(prepared, keys=[caption.image.sha256], language=caption.language_id, decoding=SHORT)
        assert isinstance(said, GeneratedCaption)
        assert caption.text == said.text
    assert "parameters" in log_of(run)
    assert "float32" in log_of(run)


def test_captions_that_cannot_fit_are_refused_before_any_image():
    run = begin(made_by("encoder-decoder", "vit_gpt2"), painted_collection(3), "en", max_tokens=64)

    go(run)

    assert run.state == RunState.FAILED
    assert run.error == (
        "The model has positions for 64 tokens. In en, the beginning and the prompt take 1, and a caption may take 64. "
        "Set the maximum number of tokens to 63 or less."
    )
    assert not run.failures.exists()
    assert go(begin(run.model, painted_collection(3), "en", max_tokens=63)).state == RunState.DONE


def test_stabilisers_count_before_any_image(models):
    tiny_models.save_chain(models / "pivot", ["a dog <de> ein hund"])
    options = {"languages": {"de": "de"}}
    model = register_model(
        is_shared=True, name="Pivot", backend="encoder-decoder", source="pivot", options=options, is_pivot=True, by=None
    )
    collection = painted_collection(2)
    loaded = registry.backend_named("encoder-decoder").load(ModelSpec("pivot", "pivot", options, True))
    assert isinstance(loaded, EncoderDecoder)
    most = loaded.positions
    assert most is not None
    fits = {False: (most - 1) // 2, True: (most - 2) // 2}
    for is_consistent, tokens in fits.items():
        run = go(begin(model, collection, "de", max_tokens=tokens + 1, is_consistent=is_consistent))
        assert run.state == RunState.FAILED
        assert (
            f"stabiliser and caption may take {2 * tokens + 2}. Set the maximum number of tokens to {tokens}"
            in run.error
        )
        assert go(begin(model, collection, "de", max_tokens=tokens, is_consistent=is_consistent)).state == RunState.DONE


def test_translations_that_cannot_fit_are_refused_before_any_text():
    english, collection = made_by("encoder-decoder", "blip"), painted_collection(2)
    go(begin(english, collection, "en"))
    translator = register_translator(
        is_shared=True, name="MBart", backend="seq2seq", source="mbart_50", options={}, by=None
    )
    model = register_translated_model(
        is_shared=True, name="By MBart", english_model=english, translator=translator, by=None
    )

    run = go(begin(model, collection, "de", max_tokens=63))

    assert run.state == RunState.FAILED
    assert "positions for 64 tokens. In de, the beginning and the prompt take 2" in run.error
    assert "to 62 or less" in run.error
    assert not run.failures.exists()
    assert go(begin(model, collection, "de", max_tokens=62)).state == RunState.DONE


def test_what_is_drawn_is_the_same_when_memory_allows_for_fewer_at_once(monkeypatch):
    import torch
    import transformers

    collection, model = painted_collection(9), made_by("encoder-decoder", "git")
    whole = go(begin(model, collection, "en", temperature=1.5, seed=3))
    said = dict(ModelCaption.objects.filter(run=whole).values_list("image__sha256", "text"))
    ModelCaption.objects.all().delete()
    generate = transformers.GitForCausalLM.generate
    tried: Counter[int] = Counter()

    def small(self, pixel_values, **named):
        tried[len(pixel_values)] += 1
        if len(pixel_values) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return generate(self, pixel_values=pixel_values, **named)

    monkeypatch.setattr(transformers.GitForCausalLM, "generate", small)
    halved = go(begin(model, collection, "en", temperature=1.5, seed=3))

    assert dict(ModelCaption.objects.filter(run=halved).values_list("image__sha256", "text")) == said
    assert len(said) >= 7
    assert max(tried) > 2 in tried


def test_a_copy_of_images_that_does_not_fit_halves_the_batch_and_the_run_says_so(monkeypatch):
    import torch

    copied, sizes = EncoderDecoder._inputs, []

    def small(self, prepared, *given):
        sizes.append(len(prepared))
        if len(prepared) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return copied(self, prepared, *given)

    monkeypatch.setattr(EncoderDecoder, "_inputs", small)
    run = go(begin(made_by("encoder-decoder", "vit_gpt2"), painted_collection(9), "en"))

    check_complete(run)
    assert run.batch_size == 2
    assert "From here on, batches have 2 images." in log_of(run)
    assert sizes[:3] == [8, 4, 2]


def test_a_pivot_models_stabilisers_are_decoded_once_and_captions_follow_from_them(models):
    tiny_models.save_chain(models / "pivot", ["a dog <de> ein hund", "french: red house <fr> une maison"])
    options = {"languages": {"de": "de", "fr": "fr"}, "prompts": {"fr": "french:"}}
    model = register_model(
        is_shared=True, name="Pivot", backend="encoder-decoder", source="pivot", options=options, is_pivot=True, by=None
    )
    collection = painted_collection(4)

    free = go(begin(model, collection, "de", "fr"))
    held = go(begin(model, collection, "de", "fr", is_consistent=True))

    def said(run):
        return Counter(ModelCaption.objects.filter(run=run).values_list("language_id", "stabiliser", "text"))

    assert said(free) == {("de", "a dog", "ein hund"): 4, ("fr", "red house", "une maison"): 4}
    assert said(held) == {("de", "a dog", "ein hund"): 4, ("fr", "a dog", "une maison"): 4}
    assert list(Stabiliser.objects.values_list("text", flat=True)) == ["a dog"] * 4


@pytest.mark.parametrize("name", some(["nllb", "m2m_100"], short=1, reason="one model of the backend is the first"))
def test_english_captions_are_translated(name):
    english, collection = made_by("encoder-decoder", "blip"), painted_collection(5)
    go(begin(english, collection, "en"))
    translator = register_translator(is_shared=True, name=name, backend="seq2seq", source=name, options={}, by=None)
    model = register_translated_model(
        is_shared=True, name="Translated", english_model=english, translator=translator, by=None
    )

    run = go(begin(model, collection, "de", "fr"))

    check_complete(run)
    assert counts(run) == (10, 0, 10, 0)
    assert set(run.captions.values_list("language_id", flat=True)) == {"de", "fr"}
    with pytest.raises(WorkRefusedError, match="Quechua"):
        begin(model, collection, "quz")


def test_a_language_that_a_model_does_not_write_is_refused_when_the_run_is_created():
    with pytest.raises(WorkRefusedError, match="German"):
        begin(made_by("encoder-decoder", "blip"), painted_collection(2), "de")
    with pytest.raises(WorkRefusedError, match="Quechua"):
        begin(made_by("chat", "paligemma"), painted_collection(2), "quz")
    with pytest.raises(WorkRefusedError, match="beam search or a temperature"):
        begin(made_by("encoder-decoder", "git"), painted_collection(2), "en", beams=3, temperature=1.0)
