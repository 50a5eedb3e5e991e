"""Encoders from small models of random numbers, saved and loaded as real ones are; and one that needs no PyTorch."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from PIL import Image

from crosslens_metrics.named_vectors import read_named_vectors
from research.inference.backends import use_multilingual
from research.inference.backends.captioners import BackendSettingsError, ModelSpec
from research.inference.backends.encoders import EncoderSettingsError, EncoderSubject, ExtraMissingError
from research.inference.backends.registry import encoder_named, encoders
from research.inference.backends.use_multilingual import SentenceEncoder
from research.inference.selectors.embeddings import open_set
from research.inference.services import model_cache
from tests.inference.embedded import make_encoder, make_set, painted_collection
from tests.torch_extra import needs_torch

SIDE = 32
SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": SIDE, "patch_size": 16}
SPREAD = 0.6

RED, BLUE = (Image.new("RGB", (50, 40), colour) for colour in ("red", "blue"))


def resnet(kind: str = "ResNetModel") -> Any:
    return random_model(kind, "ResNetConfig", embedding_size=8, hidden_sizes=[8, 24], depths=[1, 1])


def vit(kind: str = "ViTModel") -> Any:
    return random_model(kind, "ViTConfig", **SMALL, intermediate_size=32, initializer_range=SPREAD)


def convnext() -> Any:
    return random_model("ConvNextModel", "ConvNextConfig", hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)


def dinov2() -> Any:
    return random_model("Dinov2Model", "Dinov2Config", **SMALL, initializer_range=SPREAD)


def masked() -> Any:
    about = SMALL | {"patch_size": 4, "intermediate_size": 32, "initializer_range": SPREAD}
    return random_model("ViTMAEModel", "ViTMAEConfig", **about)


def of_words() -> Any:
    about = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    return random_model("BertModel", "BertConfig", **about)


def random_model(kind: str, config: str, **about: Any) -> Any:
    import transformers

    return getattr(transformers, kind)(getattr(transformers, config)(**about))


@pytest.fixture
def models(settings, tmp_path) -> Path:
    settings.MODELS_FOLDER = tmp_path / "models"
    return settings.MODELS_FOLDER


def save(folder: Path, make: Callable[[], Any]) -> str:
    """A model with the same random weights each time, and how its images are prepared; gives its source."""
    import torch
    from transformers import ViTImageProcessorPil

    with torch.random.fork_rng():
        torch.manual_seed(1)
        make().save_pretrained(folder)
    ViTImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    return folder.name


def loaded(source: str, backend: str = "vision", **options: Any) -> Any:
    spec = ModelSpec("Eyes", source, options)
    encoder_named(backend).check(spec)
    return encoder_named(backend).load(spec)


@needs_torch
@pytest.mark.parametrize(
    ("make", "kind", "dimensions"),
    [(resnet, "resnet", 24), (vit, "vit", 16), (convnext, "convnext", 16), (dinov2, "dinov2", 16)],
)
def test_vision_models_of_any_kind_give_features(models, make, kind, dimensions):
    source = save(models / kind, make)
    encoder = loaded(source)
    features = encoder.features([RED, BLUE, RED])

    assert features.shape == (3, dimensions)
    assert features.dtype == np.float32
    assert features[0] == pytest.approx(features[2], abs=1e-5)
    assert np.abs(features[0] - features[1]).max() > 1e-4
    assert encoder.signature.startswith(f"vision-{kind}-")
    assert (encoder.space, encoder.dimensions) == (encoder.signature, dimensions)
    assert encoder.describe()["pool"] == "pooler"
    assert loaded(source).signature == encoder.signature


@needs_torch
def test_the_features_of_a_resnet_are_the_mean_over_its_last_map(models):
    import torch

    encoder = loaded(save(models / "resnet", resnet))
    pixels = torch.from_numpy(encoder.prepare(RED)["pixel_values"])[None]
    with torch.inference_mode():
        last = encoder._model(pixels).last_hidden_state

    assert encoder.features([RED])[0] == pytest.approx(last[0].mean(dim=(1, 2)).numpy(), abs=1e-5)


@needs_torch
def test_a_pooler_that_was_never_trained_is_not_taken(models):
    encoder = loaded(save(models / "classifier", lambda: vit("ViTForImageClassification")))

    assert encoder.describe()["pool"] == "first"
    with pytest.raises(EncoderSettingsError, match="no weights for the pooler"):
        loaded("classifier", pool="pooler")


@needs_torch
def test_what_is_taken_of_the_last_layer_is_part_of_the_signature(models):
    source = save(models / "vit", vit)
    encoders_by_pool = {pool: loaded(source, pool=pool) for pool in ("auto", "pooler", "first", "mean")}

    signatures = {pool: encoder.signature for pool, encoder in encoders_by_pool.items()}
    assert signatures["auto"] == signatures["pooler"]
    assert len(set(signatures.values())) == 3
    rows = [encoders_by_pool[pool].features([RED])[0] for pool in ("pooler", "first", "mean")]
    assert not np.allclose(rows[1], rows[2])


@needs_torch
def test_other_weights_are_another_encoder(models):
    source = save(models / "one", resnet)
    shutil.copytree(models / "one", models / "other")
    about = json.loads((models / "other" / "config.json").read_text())
    (models / "other" / "config.json").write_text(json.dumps(about | {"note": "changed"}))

    assert loaded(source).signature != loaded("other").signature


@needs_torch
@pytest.mark.parametrize(
    ("make", "said"), [(masked, "different features for the same image"), (of_words, "not a vision model")]
)
def test_a_model_that_says_something_else_each_time_and_one_of_words_are_refused(models, make, said):
    with pytest.raises(EncoderSettingsError, match=said):
        loaded(save(models / make.__name__, make))


@needs_torch
def test_missing_weights_are_refused_rather_than_drawn_at_random(models):
    import safetensors.torch

    source = save(models / "resnet", resnet)
    path = models / "resnet" / "model.safetensors"
    weights = safetensors.torch.load_file(path)
    lost = sorted(weights)[3]
    safetensors.torch.save_file({name: weights[name] for name in weights if name != lost}, path, {"format": "pt"})

    with pytest.raises(EncoderSettingsError, match="lacks weights"):
        loaded(source)


@needs_torch
@pytest.mark.parametrize("lost", ["model.safetensors", "preprocessor_config.json", "config.json"])
def test_a_folder_that_is_not_whole_is_refused_with_a_sentence(models, lost):
    save(models / "other", resnet)
    source = save(models / "resnet", resnet)
    (models / "resnet" / lost).unlink()

    with pytest.raises(BackendSettingsError) as refused:
        loaded(source)
    assert "\n" not in str(refused.value)[:40]


@pytest.mark.skipif(importlib.util.find_spec("timm") is not None, reason="timm is installed")
@needs_torch
def test_a_model_of_timm_says_what_to_install(models):
    (models / "timm").mkdir(parents=True)
    (models / "timm" / "config.json").write_text('{"architecture": "resnet152.a1_in1k", "num_features": 2048}')
    (models / "timm" / "model.safetensors").write_bytes(b"")
    with pytest.raises(ExtraMissingError, match="pip install timm"):
        loaded("timm")


@needs_torch
@pytest.mark.django_db
@pytest.mark.sqlite  # What a model computes; how sets are stored, test_embedding_runs.py tries.
def test_a_run_stores_the_same_features_that_the_model_gives(models, media):
    encoder = make_encoder(backend="vision", source=save(models / "resnet", resnet))
    collection = painted_collection(3)
    made = make_set(encoder, collection)
    first = collection.entries.order_by("position").first().image_id

    expected = loaded("resnet").features([Image.new("RGB", (8, 6), "red")])
    assert open_set(made).rows([first]) == pytest.approx(expected, abs=1e-5)
    encoder.refresh_from_db()
    assert encoder.signature == loaded("resnet").signature


@needs_torch
@pytest.mark.django_db
@pytest.mark.sqlite
def test_a_run_and_the_command_for_files_give_the_same_features(media, tmp_path):
    model_cache.clear()
    collection = painted_collection(3)
    encoder = make_encoder(backend="mobilenet")
    made = make_set(encoder, collection)
    call_command("image_features", collection.slug, "--out", tmp_path / "features.npz", stdout=StringIO())

    file = read_named_vectors(tmp_path / "features.npz")
    keys = dict(collection.entries.values_list("key", "image_id"))
    assert open_set(made).rows([keys[key] for key in file.keys]) == pytest.approx(file.vectors, abs=1e-5)
    encoder.refresh_from_db()
    assert (encoder.signature, encoder.space, encoder.dimensions) == (file.signature, file.space, 1280)


def test_what_each_encoder_takes_is_known_without_loading_it(models):
    takes = {name: backend.subjects(ModelSpec("x", "y", {})) for name, backend in encoders().items()}
    images, captions = frozenset({EncoderSubject.IMAGES}), frozenset({EncoderSubject.CAPTIONS})

    assert takes == {
        "mobilenet": images,
        "vision": images,
        "dual-encoder": images | captions,
        "sentences": captions,
        "projection": captions,
    }
    assert {name: backend.queue for name, backend in encoders().items() if backend.queue == "default"} == {
        "sentences": "default"
    }


def test_the_sentence_encoder_brings_sentences_that_say_the_same_together_across_languages():
    encoder = loaded("", "sentences")
    rows = encoder.vectors(["a dog runs on the beach", "ein Hund läuft am Strand", "the stock market fell", " A dog\n"])

    assert rows.shape == (4, encoder.dimensions)
    assert rows.dtype == np.float32
    assert rows[0] @ rows[1] > 0.7
    assert rows[0] @ rows[2] < 0.2
    assert encoder.vectors(["A dog"])[0] == pytest.approx(rows[3], abs=1e-6)
    assert encoder.vectors([]).shape == (0, encoder.dimensions)
    assert encoder.signature.startswith("sentences-use-m3-")


def test_without_its_package_the_sentence_encoder_says_what_to_install(monkeypatch):
    monkeypatch.setattr(use_multilingual, "PACKAGE", "no-such-package")
    with pytest.raises(ExtraMissingError, match=r"-r requirements/models\.txt"):
        SentenceEncoder()
