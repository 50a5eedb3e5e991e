"""Training models that are asked by a prompt: the prompt is not learned, and what was learned is written."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from research.inference.backends.captioners import Decoding, GeneratedCaption, ModelSpec
from research.inference.backends.chat import ChatBackend
from research.inference.training.bases import model_options
from research.inference.training.examples import TrainingExample
from research.inference.training.options import RateSchedule, TrainingMethod, TrainingOptions, TrainingTargets
from tests.inference import tiny_families, tiny_models
from tests.inference.trained import Watcher, picture, trained
from tests.servers import ROOT
from tests.tiers import some
from tests.torch_extra import needs_torch

pytestmark = [
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    needs_torch,
]

WORDS = tiny_models.WORDS + " green white picture ein rotes bild"
TRAINING = [
    TrainingExample("red", "en", "a red picture"),
    TrainingExample("red", "de", "ein rotes bild"),
    TrainingExample("blue", "en", "the blue picture stands near a boat"),
]
CODES: dict[str, Any] = {"languages": {"en": "en", "de": "de"}}
SHORT = TrainingOptions(
    steps=20, batch_size=3, validate_every=20, learning_rate=1e-2, max_tokens=8, schedule=RateSchedule.CONSTANT
)


SAVED = {
    "idefics3": tiny_models.save_idefics3,
    "blip_2": tiny_families.save_blip_2,
    "florence_2": tiny_families.save_florence_2,
    "paligemma": tiny_models.save_paligemma,
    "llava": tiny_models.save_llava,
    "blip_2_t5": tiny_families.save_blip_2_t5,
}


def captioner_of(folder: Path, *, is_pivot: bool = False, **options) -> Any:
    return ChatBackend().load_folder(ModelSpec("base", "base", options, is_pivot), folder)


def options_of(name: str) -> dict[str, Any]:
    if "blip" in name or "florence" in name:
        return {**CODES, "prompts": {"en": "dog", "de": "cat"}}
    return CODES


def learns(folder: Path, out: Path, options: dict[str, Any], how: TrainingOptions = SHORT) -> None:
    watcher = Watcher()
    outcome = trained(captioner_of(folder, **options), out, options=how, watcher=watcher, training=TRAINING)

    assert outcome.best is not None
    losses = [one.loss for one in watcher.steps]
    assert losses[-1] < losses[0] / 2
    model = captioner_of(out / "model", **options)
    again = captioner_of(out / "model", **options)
    for one in TRAINING:
        shown = [model.prepare(picture(one.image))]
        said = model.caption(shown, keys=["a"], language=one.language, decoding=Decoding(max_tokens=8))
        assert isinstance(said[0], GeneratedCaption)
        same = again.caption(shown, keys=["a"], language=one.language, decoding=Decoding(max_tokens=8))
        assert same == said
        if losses[-1] < 0.02:
            assert said[0].text == one.caption


@pytest.mark.parametrize(
    ("name", "method"),
    some(
        [
            ("paligemma", TrainingMethod.LORA),
            ("blip_2", TrainingMethod.FULL),
            ("florence_2", TrainingMethod.FULL),
            ("llava", TrainingMethod.FULL),
            ("idefics3", TrainingMethod.LORA),
            ("blip_2_t5", TrainingMethod.LORA),
        ],
        short=1,
        reason="that each learns what it is to write, its losses say",
    ),
)
def test_the_loss_falls_and_the_exported_model_captions(name: str, method: TrainingMethod, tmp_path: Path) -> None:
    learns(SAVED[name](tmp_path / "base", WORDS), tmp_path / "out", options_of(name), replace(SHORT, method=method))


@pytest.mark.parametrize("name", some(SAVED, short=3, reason="each way to be asked is among the first"))
def test_a_batch_has_the_losses_of_its_captions_and_the_models_own_probabilities(name: str, tmp_path: Path) -> None:
    import torch

    captioner = captioner_of(SAVED[name](tmp_path / "base", WORDS), **options_of(name))
    captioner.weights.eval()
    rows = [captioner.row(one.caption, language=one.language, stabiliser="") for one in TRAINING]
    prepared = [captioner.prepare(picture(one.image)) for one in TRAINING]

    with torch.inference_mode():
        together = float(captioner.loss(prepared, rows))
        alone = [float(captioner.loss([image], [row])) for image, row in zip(prepared, rows, strict=True)]

    assert together == pytest.approx(sum(alone), rel=1e-4)
    assert [row.given for row in rows] == [0, 0, 0]
    assert [len(row.tokens) for row in rows] == [4, 4, 8]
    # What is learned stands where the model writes: what it writes by itself is likelier than another word there.
    said = captioner.caption(prepared[:1], keys=["a"], language="en", decoding=Decoding(max_tokens=1))[0]
    first = captioner.row(said.text if isinstance(said, GeneratedCaption) else "", language="en", stabiliser="")
    words = [captioner.row(word, language="en", stabiliser="") for word in ("dog", "house", "green", "bild")]
    with torch.inference_mode():
        best = float(captioner.loss(prepared[:1], [replace(first, tokens=first.tokens[:1])]))
        others = [float(captioner.loss(prepared[:1], [replace(one, tokens=one.tokens[:1])])) for one in words]
    if isinstance(said, GeneratedCaption):
        assert best <= min(others) + 1e-5


def test_languages_that_the_prompt_names_get_no_prompt_of_their_own() -> None:
    backend = ChatBackend()

    assert backend.names_languages("paligemma", {})
    assert backend.names_languages("qwen2_vl", {})
    assert not backend.names_languages("blip-2", {})
    assert not backend.names_languages("qwen2_vl", {"prompt": "Describe."})
    assert model_options({}, TRAINING, TrainingTargets.PLAIN, names_languages=True) == CODES
    assert model_options({}, TRAINING, TrainingTargets.PLAIN)["prompts"] == {"en": "en:", "de": "de:"}


def test_positions_are_what_the_prompt_leaves(tmp_path: Path) -> None:
    folder = tiny_families.save_blip_2(tmp_path / "base", WORDS)

    assert captioner_of(folder).positions == 2048 - tiny_families.QUERIES - 1


@pytest.mark.process
@pytest.mark.long(reason="a process of its own, which imports PyTorch, transformers and torchvision")
def test_models_that_need_torchvision_are_trained() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "tests.torchvision_beside", "tests/inference/trained_watchers.py"]
    ended = subprocess.run([*command, "-q"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "5 passed" in ended.stdout, ended.stdout + ended.stderr
