"""Projections of captions into a space of image features: learned from few real pairs, seeded, resumable, named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from crosslens_metrics.cider import cider
from crosslens_metrics.named_vectors import NamedVectors
from crosslens_metrics.text import tokenise
from crosslens_metrics.word_vectors import TableWriter, open_table
from research.inference.backends.encoders import ExtraMissingError
from research.inference.backends.mobilenet import MobileNet
from research.inference.backends.projection import open_projection
from research.inference.formats.packaged_vectors import copy_glove
from research.inference.projections import training
from research.inference.projections.folder import (
    CHECKPOINT,
    MANIFEST,
    WEIGHTS,
    ProjectionConfig,
    ProjectionError,
    read_projection,
)
from research.inference.projections.training import BaseProjection, TrainingData, train
from tests.inference.projecting import TINY, tiny_task, trained
from tests.published import published
from tests.servers import ROOT
from tests.torch_extra import needs_torch

pytestmark = needs_torch

HELD_OUT = 40


class Stopped(Exception):
    pass


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_same_seed_gives_the_same_projection_and_another_seed_another(tmp_path):
    import torch

    before = torch.random.get_rng_state()
    one, same = trained(tmp_path / "one"), trained(tmp_path / "same")
    other = trained(tmp_path / "other", config=replace(TINY, seed=2))

    assert one == same
    assert one.signature == same.signature
    assert (tmp_path / "one" / WEIGHTS).read_bytes() == (tmp_path / "same" / WEIGHTS).read_bytes()
    assert other.weights_sha256 != one.weights_sha256
    assert torch.equal(before, torch.random.get_rng_state())


def test_what_was_interrupted_goes_on_to_the_same_projection(tmp_path):
    def stop(epoch, loss):
        if epoch == 2:
            raise Stopped

    whole = trained(tmp_path / "whole")
    with pytest.raises(Stopped):
        train(tiny_task(), TINY, tmp_path / "broken", resume=False, progress=stop)
    with pytest.raises(ProjectionError, match="--resume"):
        trained(tmp_path / "broken")
    with pytest.raises(ProjectionError, match="was not finished"):
        open_projection(tmp_path / "broken", None)
    epochs = []
    resumed = train(tiny_task(), TINY, tmp_path / "broken", resume=True, progress=lambda epoch, _: epochs.append(epoch))

    assert epochs == [3, 4]
    assert resumed == whole
    assert not (tmp_path / "broken" / CHECKPOINT).exists()


@pytest.mark.parametrize("step", ["triplet_loss", "validation", "optimiser"])
def test_memory_that_runs_out_is_said_and_what_was_done_is_kept(tmp_path, monkeypatch, step):
    import torch

    from research.inference.projections import network

    validation = {"image-8": ("a green boat",), "image-7": ("a green cat",)}
    task = tiny_task(captions=tiny_task().captions[:7], images=tiny_task().images[:7], validation=validation)
    whole = trained(tmp_path / "whole", task)

    def full(*_given, **_named):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nMore.")

    def fill(epoch, _loss):
        if epoch == 2:
            owner, name = {
                "triplet_loss": (network, "triplet_loss"),
                "validation": (training, "cider"),
                "optimiser": (torch.optim.RMSprop, "step"),
            }[step]
            monkeypatch.setattr(owner, name, full)

    with pytest.raises(ProjectionError, match=r"ran out \(CUDA out of memory. Tried to allocate 2 GiB.\).*--resume"):
        train(task, TINY, tmp_path / "broken", resume=False, progress=fill)
    monkeypatch.undo()
    assert trained(tmp_path / "broken", task, resume=True) == whole


KILLED = """
import sys
from pathlib import Path
import config
from research.inference.projections.training import train
from tests.inference.projecting import TINY, tiny_task

def say(epoch, loss):
    print(epoch, flush=True)
    if epoch == 2:
        sys.stdin.read()

train(tiny_task(), TINY, Path(sys.argv[1]), resume=False, progress=say)
"""


@pytest.mark.process
@pytest.mark.long(reason="a training is killed and another one started; an interruption is always tried above")
def test_a_training_that_was_killed_is_resumed_to_the_same_projection(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "killed")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        cwd=ROOT,
    )
    try:
        assert [process.stdout.readline() for _ in range(2)] == [b"1\n", b"2\n"]
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()

    assert process.returncode == -signal.SIGKILL
    assert trained(tmp_path / "killed", resume=True) == trained(tmp_path / "whole")


def test_a_checkpoint_is_only_resumed_by_the_training_it_is_of(tmp_path):
    def stop(epoch, loss):
        raise Stopped

    with pytest.raises(Stopped):
        train(tiny_task(), TINY, tmp_path, resume=False, progress=stop)

    with pytest.raises(ProjectionError, match="belongs to a training with other"):
        trained(tmp_path, tiny_task(captions=["a dog"] * 9), resume=True)
    with pytest.raises(ProjectionError, match="belongs to a training with other"):
        trained(tmp_path, config=replace(TINY, seed=5), resume=True)
    (tmp_path / CHECKPOINT).write_bytes(b"half a file")
    with pytest.raises(ProjectionError, match="cannot be read"):
        trained(tmp_path, resume=True)


def test_a_finished_projection_is_never_changed_and_notices_when_it_was(tmp_path):
    trained(tmp_path)
    with pytest.raises(ProjectionError, match="never changed"):
        trained(tmp_path, resume=True)

    weights = dict(np.load(tmp_path / WEIGHTS))
    np.savez(tmp_path / WEIGHTS, **{name: value + 1 for name, value in weights.items()})
    with pytest.raises(ProjectionError, match="do not match its manifest"):
        open_projection(tmp_path, None)
    said = json.loads((tmp_path / MANIFEST).read_text(encoding="utf-8"))
    (tmp_path / MANIFEST).write_text(json.dumps({**said, "language": "de"}), encoding="utf-8")
    with pytest.raises(ProjectionError, match="was changed"):
        open_projection(tmp_path, None)


def test_captions_are_projected_one_by_one_as_together_whatever_words_they_have(tmp_path):
    manifest = trained(tmp_path)
    projection = open_projection(tmp_path, None)
    captions = ["A red dog!", "", "words never seen", "a blue cat a blue cat a blue cat", "a red dog"]

    together = projection.vectors(captions)
    alone = np.concatenate([projection.vectors([caption]) for caption in captions])

    assert together.shape == (5, 5)
    assert together.dtype == np.float32
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(together[0], together[4], atol=1e-6)
    assert not np.allclose(together[0], together[3])
    assert (projection.signature, projection.space) == (manifest.encoder, "made-up-1")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"images": [f"image-{number}" for number in (*range(7), 70, 80)]},
            "image-70 has captions but no features, nor",
        ),
        ({"images": ["image-1"] * 9}, "two images"),
        (
            {"features": NamedVectors(tuple(f"image-{n}" for n in range(9)), np.zeros((9, 5), np.float32), "x", "x")},
            "image-0 are all zeros",
        ),
        ({"features": NamedVectors(("image-0",) * 9, np.ones((9, 5), np.float32), "x", "x")}, "image-0 twice"),
    ],
)
def test_pairs_that_nothing_can_be_learned_from_are_refused_and_named(tmp_path, changes, said):
    with pytest.raises(ProjectionError, match=said):
        trained(tmp_path, tiny_task(**changes))


def test_without_torch_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(ExtraMissingError, match=r"pip install -r requirements/gpu\.txt"):
        trained(tmp_path)


# On real images and their descriptions


@pytest.fixture(scope="module")
def cut_outs():
    """Features of 162 real cut-outs, their English descriptions, and GloVe."""
    folder = published("tux")
    stamps = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    encoder = MobileNet()
    images = []
    for stamp in stamps:
        with Image.open(folder / stamp["file"]) as image:
            images.append(image.convert("RGB"))
    keys = tuple(stamp["file"] for stamp in stamps)
    features = NamedVectors(keys, encoder.features(images), encoder.signature, encoder.space)
    return features, {stamp["file"]: stamp["captions"]["en"] for stamp in stamps if "en" in stamp["captions"]}


@pytest.fixture(scope="module")
def glove(tmp_path_factory, cut_outs):
    """The vectors of the words that occur here: the whole table takes seconds to write."""
    words = {word for text in tokenise([*cut_outs[1].values()], normalise=True) for word in text.split()}
    folder = tmp_path_factory.mktemp("glove")

    class Some(TableWriter):
        def add(self, word, vector):
            if word in words:
                super().add(word, vector)

    copy_glove(lambda dimensions: Some(folder, dimensions=dimensions, language="en"))
    return open_table(folder)


def ranks_of_the_right_image(folder: Path, cut_outs, glove, *, shuffled: bool) -> np.ndarray:
    features, descriptions = cut_outs
    names = np.random.default_rng(1).permutation([*descriptions])
    held_out, learned = names[:HELD_OUT], names[HELD_OUT:]
    images = np.random.default_rng(2).permutation(learned) if shuffled else learned
    task = tiny_task(
        captions=tokenise([descriptions[name] for name in learned], normalise=True),
        images=[str(image) for image in images],
        features=features,
        vectors=glove,
    )
    trained(folder, task, ProjectionConfig(recurrent=256, hidden=512, epochs=30))
    projected = open_projection(folder, glove).vectors([descriptions[name] for name in held_out])
    rows = features.rows().named
    right = features.vectors[[rows[name][0] for name in held_out]]
    cosines = _directions(projected) @ _directions(right).T
    return 1 + (cosines > np.diagonal(cosines)[:, None]).sum(axis=1)


def _directions(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.long(reason="a whole published data set")
def test_held_out_images_are_found_far_better_than_by_chance_and_not_after_shuffled_pairs(tmp_path, cut_outs, glove):
    ranks = ranks_of_the_right_image(tmp_path / "real", cut_outs, glove, shuffled=False)
    control = ranks_of_the_right_image(tmp_path / "control", cut_outs, glove, shuffled=True)

    # By chance: a mean rank of 20.5, with a standard error of 1.8, and one in eight among the first five.
    assert ranks.mean() < 15
    assert np.median(ranks) < 12
    assert (ranks <= 5).mean() > 0.3
    assert control.mean() > 16
    assert (control <= 5).mean() < 0.3


@pytest.mark.long(reason="a whole published data set")
def test_mobilenet_sees_what_is_in_an_image(cut_outs):
    features, _descriptions = cut_outs
    cosines = _directions(features.vectors) @ _directions(features.vectors).T
    place = {key: number for number, key in enumerate(features.keys)}
    pig, golden = place["animals_mammals_pig.jpg"], place["animals_mammals_pig_golden.jpg"]
    hammer = place["household_tools_hammer.jpg"]
    assert cosines[pig, golden] > cosines[pig, hammer] + 0.2
    assert features.vectors.shape == (162, 1280)


def test_mobilenet_sees_the_same_whatever_the_mode_of_an_image_is():
    red = Image.new("RGB", (300, 200), "red")
    modes = MobileNet().features([red, red.convert("RGBA"), red.convert("P"), Image.new("L", (1, 3000))])
    np.testing.assert_allclose(modes[1], modes[0], atol=1e-4)
    np.testing.assert_allclose(modes[2], modes[0], atol=1e-4)
    assert np.isfinite(modes).all()


VALIDATION = {"image-7": ["a blue cat"], "image-8": ["a green boat"]}


def validated_task(**changes) -> TrainingData:
    task = tiny_task()
    learned = [(caption, image) for caption, image in zip(task.captions, task.images, strict=True) if image < "image-7"]
    captions, images = zip(*learned, strict=True)
    return replace(task, captions=captions, images=images, validation=VALIDATION, **changes)


def test_the_epoch_with_the_best_cider_in_validation_is_kept(tmp_path, monkeypatch):
    ciders = iter([1.0, 3.0, 3.0, 2.0])
    monkeypatch.setattr(training, "cider", lambda found, references: Corpus(next(ciders) / 100))
    seen = []
    epochs_of_two = trained(tmp_path / "two", replace(validated_task(), validation={}), replace(TINY, epochs=2))

    manifest = train(
        validated_task(),
        TINY,
        tmp_path / "best",
        resume=False,
        progress=lambda epoch, loss: None,
        validated=lambda epoch, cider: seen.append((epoch, round(cider, 6))),
    )

    assert seen == [(1, 1.0), (2, 3.0), (3, 3.0), (4, 2.0)]
    assert manifest.epoch == 2
    assert manifest.weights_sha256 == epochs_of_two.weights_sha256
    assert manifest.signature != epochs_of_two.signature


@dataclass
class Corpus:
    corpus: float


def test_validation_scores_the_training_caption_nearest_to_each_image(tmp_path, monkeypatch):
    found = []

    def note(captions, references):
        found.append(captions)
        assert references == list(VALIDATION.values())
        return cider(captions, references)

    monkeypatch.setattr(training, "cider", note)
    task = validated_task()
    manifest = trained(tmp_path / "out", task, replace(TINY, epochs=1))

    projection = open_projection(tmp_path / "out", None)
    made = projection.vectors(task.captions)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    features = task.features.vectors[[7, 8]]
    assert found == [[task.captions[place] for place in (features @ made.T).argmax(axis=1)]]
    assert manifest.epoch == 1


def test_a_validated_training_that_was_interrupted_goes_on_to_the_same_projection(tmp_path):
    def stop(epoch, loss):
        if epoch == 2:
            raise Stopped

    whole = trained(tmp_path / "whole", validated_task())
    with pytest.raises(Stopped):
        train(validated_task(), TINY, tmp_path / "broken", resume=False, progress=stop)

    assert trained(tmp_path / "broken", validated_task(), resume=True) == whole


def test_a_projection_is_trained_further_on_another_set(tmp_path):
    first = trained(tmp_path / "first")
    base = BaseProjection(*read_projection(tmp_path / "first"))
    other = tiny_task(captions=[caption.replace("dog", "horse") for caption in tiny_task().captions])

    second = train(
        other, replace(TINY, epochs=2), tmp_path / "second", resume=False, progress=lambda epoch, loss: None, base=base
    )

    assert second.base == first.signature
    assert second.words_sha256 == first.words_sha256
    assert second.weights_sha256 != first.weights_sha256
    fresh = trained(tmp_path / "fresh", other, replace(TINY, epochs=2))
    assert fresh.base is None
    assert second.weights_sha256 != fresh.weights_sha256
    assert open_projection(tmp_path / "second", None).signature == second.encoder


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"language": "de"}, "another language: en, not de"),
        ({"text": "icu-1"}, "another text: whitespace-1\\+norm-1, not icu-1"),
        ({"config": replace(TINY, hidden=4)}, "another hidden: 16, not 4"),
    ],
)
def test_a_projection_with_other_inputs_is_not_trained_further(tmp_path, changes, says):
    trained(tmp_path / "first")
    base = BaseProjection(*read_projection(tmp_path / "first"))
    config = changes.pop("config", TINY)

    with pytest.raises(ProjectionError, match=says):
        train(
            tiny_task(**changes),
            config,
            tmp_path / "second",
            resume=False,
            progress=lambda epoch, loss: None,
            base=base,
        )


@pytest.mark.parametrize(
    ("validation", "says"),
    [
        ({"image-1": ["a dog"], "image-8": ["a cat"]}, "Image image-1 is in training and in validation"),
        ({"image-99": ["a dog"], "image-8": ["a cat"]}, "Image image-99 has validation captions but no features"),
        ({"image-8": ["a cat"]}, "at least two images"),
    ],
)
def test_validation_that_cannot_choose_is_refused(tmp_path, validation, says):
    with pytest.raises(ProjectionError, match=says):
        trained(tmp_path / "out", replace(validated_task(), validation=validation))
