"""From images to scores by commands, with a projection or with a CLIP-like model in its place."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from django.core.management import CommandError
from PIL import Image

from crosslens_metrics.annotation_free import projections_of
from crosslens_metrics.named_vectors import read_named_vectors
from crosslens_metrics.scoring import score
from tests.commands import output_of
from tests.inference.tiny_encoders import save_clip
from tests.torch_extra import needs_torch

pytestmark = needs_torch


@pytest.mark.sqlite
@pytest.mark.django_db
def test_from_images_to_scores_by_commands(tmp_path):
    images = tmp_path / "images" / "inside"
    images.mkdir(parents=True)
    colours = ("red", "blue", "green", "white")
    for colour in colours:
        Image.new("RGB", (40, 30), colour).save(images / f"{colour}.png")
    pairs = tmp_path / "pairs.jsonl"
    lines = [{"image": f"inside/{colour}.png", "captions": [f"All is {colour}.", f"{colour}!"]} for colour in colours]
    pairs.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    glove = tmp_path / "glove.txt"
    glove.write_text("".join(f"{word} {n} 1 {n % 2}\n" for n, word in enumerate((*colours, "all"))), encoding="utf-8")
    features, folder, out = tmp_path / "features.npz", tmp_path / "projection", tmp_path / "captions.npz"

    output_of("image_features", tmp_path / "images", "--out", features)
    options = ["--features", features, "--language", "en", "--vectors", glove, "--epochs", 2, "--out", folder]
    assert "Epoch 2 of 2" in output_of("train_projection", pairs, *options)
    candidates = tmp_path / "candidates.jsonl"
    ours = [{"image": f"inside/{colour}.png", "caption": f"all {colour}"} for colour in colours]
    candidates.write_text("".join(json.dumps(line) + "\n" for line in ours), encoding="utf-8")
    said = output_of("project_captions", folder, candidates, "--out", out)
    output_of("project_captions", folder, pairs, "--out", tmp_path / "english.npz")
    vectors = read_named_vectors(out)
    scored = json.loads(
        output_of(
            *("score_captions", candidates, pairs, "--metrics", "wmdrel,clinrel,cmedrel,wcc", "--normalise"),
            *("--vectors", glove, "--projections", out, "--english", tmp_path / "english.npz"),
            *("--features", features, "--json"),
        )
    )

    assert vectors.keys == tuple(f"inside/{colour}.png" for colour in colours)
    assert vectors.signature in said
    assert vectors.space == read_named_vectors(features).signature
    assert vectors.signature in json.dumps(scored)
    with pytest.raises(CommandError, match="already exists"):
        output_of("project_captions", folder, pairs, "--out", out)
    with pytest.raises(CommandError, match=r"--out: .* cannot be made a folder .* Choose another one"):
        output_of("train_projection", pairs, *options[:-1], pairs)
    with pytest.raises(CommandError, match="icu or characters"):
        output_of(
            "train_projection", pairs, "--features", features, "--language", "zh", "--vectors", "none", "--out", folder
        )
    with pytest.raises(CommandError, match="neither a file nowhere nor word vectors"):
        output_of(
            *("train_projection", pairs, "--features", features, "--language", "en"),
            *("--vectors", "nowhere", "--out", tmp_path / "other"),
        )


@pytest.fixture(scope="module")
def tiny_clip(tmp_path_factory):
    return save_clip(tmp_path_factory.mktemp("clip"))


def test_a_dual_encoder_puts_captions_and_images_in_one_space_and_is_named_by_its_files(tmp_path, tiny_clip):
    from research.inference.backends.dual_encoder import DualEncoder

    encoder = DualEncoder(str(tiny_clip))
    images = encoder.features([Image.new("RGB", (50, 40), "red"), Image.new("L", (20, 90))])
    captions = encoder.vectors(["a red", "ein rot " * 20, ""])

    assert (images.shape, captions.shape) == ((2, 12), (3, 12))
    np.testing.assert_allclose(encoder.vectors(["a red"])[0], captions[0], atol=1e-5)
    assert encoder.signature.startswith("dual-encoder-clip-")
    assert encoder.signature == encoder.space == DualEncoder(str(tiny_clip)).signature
    other = shutil.copytree(tiny_clip, tmp_path / "other")
    config = json.loads((other / "tokenizer_config.json").read_text(encoding="utf-8"))
    (other / "tokenizer_config.json").write_text(json.dumps({**config, "model_max_length": 8}), encoding="utf-8")
    assert DualEncoder(str(other)).signature != encoder.signature


def test_scores_by_a_dual_encoder_name_it(tmp_path, tiny_clip):
    Image.new("RGB", (40, 30), "red").save(tmp_path / "red.png")
    captions = tmp_path / "captions.jsonl"
    captions.write_text('{"image": "red.png", "caption": "a red"}\n', encoding="utf-8")
    output_of("image_features", tmp_path, "--encoder", tiny_clip, "--out", tmp_path / "features.npz")
    output_of("project_captions", tiny_clip, captions, "--out", tmp_path / "captions.npz")
    texts, images = (read_named_vectors(tmp_path / f"{name}.npz") for name in ("captions", "features"))

    projections = projections_of(["red.png"], candidates=texts, references=texts, features=images)
    clin, cmed = score(["a red"], [["a red"]], metrics=["clinrel", "cmedrel"], projections=projections)

    assert clin.scores.corpus == pytest.approx(1.0)
    assert -1 <= cmed.scores.corpus < 1
    assert cmed.signature.get("encoder") == texts.signature


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("org/model", "without the commit"),
        ("org/model@main", "without the commit"),
        ("{empty}", "config.json is missing"),
    ],
)
def test_encoders_that_are_none_are_refused(tmp_path, source, said):
    source = source.format(empty=tmp_path)
    Image.new("RGB", (4, 4)).save(tmp_path / "x.png")

    with pytest.raises(CommandError, match=said):
        output_of("image_features", tmp_path, "--encoder", source, "--out", tmp_path / "x.npz")
