"""What test_training_asked.py runs in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from research.inference.backends.captioners import Decoding, GeneratedCaption
from research.inference.training.examples import TrainingExample
from tests.inference import tiny_watchers
from tests.inference.test_training_asked import CODES, SHORT, captioner_of
from tests.inference.trained import Watcher, picture, trained
from tests.inference.watchers import NAMES

TRAINING = [
    TrainingExample("red", "en", "a red dog"),
    TrainingExample("blue", "de", "the blue boat stands near the house"),
]


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_falls_and_the_exported_model_captions(name: str, tmp_path: Path) -> None:
    folder = getattr(tiny_watchers, f"save_{name}")(tmp_path / "base")
    watcher = Watcher()

    trained(captioner_of(folder, **CODES), tmp_path / "out", options=SHORT, watcher=watcher, training=TRAINING)

    assert watcher.steps[-1].loss < watcher.steps[0].loss / 2
    model = captioner_of(tmp_path / "out" / "model", **CODES)
    said = model.caption([model.prepare(picture("red"))], keys=["a"], language="en", decoding=Decoding(max_tokens=8))
    assert isinstance(said[0], GeneratedCaption)
