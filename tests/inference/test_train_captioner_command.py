"""`train_captioner` in the foreground: what it prints, keeps and refuses."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from PIL import Image

from research.inference.backends.captioners import Decoding, GeneratedCaption, ModelSpec
from research.inference.backends.encoder_decoder import EncoderDecoderBackend
from research.inference.management.commands import train_captioner
from research.inference.training.checkpoints import read_curve
from tests.torch_extra import needs_torch

pytestmark = needs_torch

COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200), "white": (250, 250, 250)}
OPTIONS = {"steps": 12, "validate_every": 6, "batch_size": 3, "learning_rate": 1e-3, "max_tokens": 6}


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
