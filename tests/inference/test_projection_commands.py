"""Commands: train captioners, and from images to scores, with a projection or with a CLIP-like model in its place."""

from __future__ import annotations

import json
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from PIL import Image

from crosslens_metrics.annotation_free import projections_of
from crosslens_metrics.named_vectors import read_named_vectors
from crosslens_metrics.scoring import score
from research.inference.backends.captioners import Decoding, GeneratedCaption, ModelSpec
from research.inference.backends.encoder_decoder import EncoderDecoderBackend
from research.inference.management.commands import train_captioner
from research.inference.training.checkpoints import read_curve
from tests.commands import output_of
from tests.inference.tiny_families import save_clip
from tests.torch_extra import needs_torch

pytestmark = needs_torch
COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200), "white": (250, 250, 250)}
OPTIONS = {"steps": 12, "validate_every": 6, "batch_size": 3, "learning_rate": 1e-3, "max_tokens": 6}


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


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for name, colour in COLOURS.items():
        Image.new("RGB", (40, 40), colour).save(folder / f"{name}.png")
    return folder


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    return written(
        tmp_path / "captions.jsonl",
        *({"image": f"{name}.png", "caption": f"a {name} picture", "language": "en"} for name in COLOURS),
    )


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def train(captions: Path, images: Path, out: Path, *, model: str = "new", **options: Any) -> str:
    stdout = StringIO()
    call_command(
        "train_captioner", str(captions), images=images, model=model, out=out, stdout=stdout, **(OPTIONS | options)
    )
    return stdout.getvalue()


def test_it_trains_a_small_model_from_nothing(captions: Path, images: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in train(captions, images, tmp_path / "out", json=True).splitlines()]

    assert [line["validation"]["step"] for line in lines if "validation" in line] == [0, 6, 12]
    assert [line["step"] for line in lines if "loss" in line] == [10]
    model = tmp_path / "out" / "model"
    assert lines[-1] == {"model": str(model), "step": lines[-1]["step"], "cider": lines[-1]["cider"]}
    card = (model / "README.md").read_text()
    assert "trained from **a new small model**" in card
    assert "| en | 3 |" in card
    made = json.loads((model / "training.json").read_text())
    assert made["options"]["steps"] == 12
    assert made["model_options"] == {"languages": {"en": "en"}}
    captioner = EncoderDecoderBackend().load_folder(ModelSpec("trained", "trained", made["model_options"]), model)
    with Image.open(images / "red.png") as image:
        (caption,) = captioner.caption(
            [captioner.prepare(image)], keys=["red"], language="en", decoding=Decoding(max_tokens=6)
        )
    assert isinstance(caption, GeneratedCaption)


@pytest.mark.usefixtures("smaller")
def test_an_interrupted_one_is_resumed_by_the_same_command(
    captions: Path, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(captions, images, tmp_path / "whole")
    stepped = train_captioner._PrintingWatcher.stepped

    def stop(self: Any, record: Any) -> None:
        stepped(self, record)
        if record.step == 8:
            self._stop()

    monkeypatch.setattr(train_captioner._PrintingWatcher, "stepped", stop)
    with pytest.raises(CommandError, match="Stopped after step 8"):
        train(captions, images, tmp_path / "parts")
    monkeypatch.undo()

    output = train(captions, images, tmp_path / "parts")

    assert "Resumed after step 8." in output
    curves = [[(one.step, one.loss) for one in read_curve(tmp_path / name)[0]] for name in ("whole", "parts")]
    assert curves[0] == curves[1]
    with pytest.raises(CommandError, match="belongs to a training with another model, other captions or other options"):
        train(captions, images, tmp_path / "parts", steps=13)


def test_an_output_that_is_no_folder_is_refused_before_anything_is_read(captions: Path, images: Path) -> None:
    for out in (captions, captions / "below"):
        with pytest.raises(CommandError, match=r"--out: .* cannot be made a folder .* Choose another one"):
            train(captions, images, out)


@pytest.mark.usefixtures("smaller")
def test_a_trained_model_is_trained_further(captions: Path, images: Path, tmp_path: Path) -> None:
    train(captions, images, tmp_path / "first", steps=6)
    first = tmp_path / "first" / "model"

    train(captions, images, tmp_path / "second", model=str(first), method="lora")

    assert f"trained from **{first}**" in (tmp_path / "second" / "model" / "README.md").read_text()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"captions": "nowhere.jsonl"}, "nowhere.jsonl: The file cannot be read"),
        ({"evaluated": "nowhere.txt"}, "nowhere.txt cannot be read"),
        ({"evaluated": "evaluated.txt"}, "1 image belongs to an evaluation set: red.png."),
        ({"images": "nowhere"}, "Captions without images: 4. 'blue.png' is not in"),
        ({"model": "nowhere"}, "There is no folder “nowhere”"),
        ({"steps": 0}, "“steps” must be at least 1."),
        ({"validation": "captions.jsonl"}, "4 images are in training and in validation"),
    ],
)
def test_bad_input_is_refused_before_anything_is_computed(
    captions: Path, images: Path, tmp_path: Path, options: dict[str, Any], says: str, settings: Any
) -> None:
    settings.MODELS_FOLDER = tmp_path / "models"
    (tmp_path / "evaluated.txt").write_text("red.png\n")
    files = {name: tmp_path / options.pop(name) for name in ("captions", "images") if name in options}
    paths = {name: tmp_path / options.pop(name) for name in ("evaluated", "validation") if name in options}

    with pytest.raises(CommandError, match=says):
        train(files.get("captions", captions), files.get("images", images), tmp_path / "out", **paths, **options)

    assert not (tmp_path / "out" / "curve.jsonl").exists()
