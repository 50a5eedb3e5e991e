"""Training captioning models: the losses, what is kept, and what is refused."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from research.inference.backends.captioners import Decoding, GeneratedCaption
from research.inference.backends.encoder_decoder import EncoderDecoder
from research.inference.training import checkpoints
from research.inference.training.bases import model_options, new_captioner
from research.inference.training.checkpoints import StepRecord, read_curve
from research.inference.training.examples import (
    TrainingExample,
    as_targets,
    check_split,
    digest_of,
    read_examples,
    split_by_image,
)
from research.inference.training.options import (
    RateSchedule,
    TrainingError,
    TrainingMethod,
    TrainingOptions,
    TrainingTargets,
)
from research.inference.training.steps import examples_of_step, learning_rate
from tests.inference import tiny_models
from tests.inference.trained import (
    SHORT,
    TRAINING,
    VALIDATION,
    Watcher,
    captioner_of,
    picture,
    trained,
)
from tests.torch_extra import needs_torch

pytestmark = [needs_torch, pytest.mark.usefixtures("smaller")]


@pytest.fixture(scope="module")
def whole(base: Path, tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """The losses of a training that nothing stopped."""
    watcher = Watcher()
    trained(captioner_of(base), tmp_path_factory.mktemp("whole"), watcher=watcher)
    return [one.loss for one in watcher.steps]


def test_a_small_model_learns_its_captions_and_says_them(base: Path, tmp_path: Path) -> None:
    options = replace(SHORT, steps=40, validate_every=40, learning_rate=1e-2, schedule=RateSchedule.CONSTANT)
    watcher = Watcher()

    outcome = trained(captioner_of(base), tmp_path / "out", options=options, watcher=watcher)

    assert outcome.best is not None
    assert watcher.steps[0].loss > 3
    assert watcher.steps[-1].loss < 0.1
    model = captioner_of(tmp_path / "out" / "model")
    said = model.caption(
        [model.prepare(picture(one.image)) for one in TRAINING],
        keys=["a", "b", "c"],
        language="en",
        decoding=Decoding(max_tokens=6),
    )
    assert said == [GeneratedCaption(one.caption) for one in TRAINING]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_resumed_training_has_the_same_losses_as_one_that_was_never_stopped(tmp_path: Path) -> None:
    folder = tiny_models.save_vit_gpt2(tmp_path / "base", tiny_models.WORDS + " red green blue white picture")
    options = replace(SHORT, steps=6, method=TrainingMethod.LORA, lora_dropout=0.1)
    whole, first, second = Watcher(), Watcher(stop_after=4), Watcher()

    trained(captioner_of(folder), tmp_path / "whole", options=options, watcher=whole)
    stopped = trained(captioner_of(folder), tmp_path / "parts", options=options, watcher=first)
    ended = trained(captioner_of(folder), tmp_path / "parts", options=options, watcher=second)

    assert stopped.best is None
    assert ended.best is not None
    assert second.notes == ["Resumed after step 4."]
    losses = [record.loss for record in whole.steps]
    assert len(set(losses)) == 6, "Every step changed something."
    assert [record.loss for record in [*first.steps, *second.steps]] == losses
    steps, validations = read_curve(tmp_path / "parts")
    assert [record.loss for record in steps] == losses
    assert [(one.step, one.loss, one.cider) for one in validations] == [
        (one.step, one.loss, one.cider) for one in whole.validations
    ]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_was_done_after_the_last_checkpoint_is_done_again(base: Path, whole: list[float], tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    class KilledWatcher(Watcher):
        def stepped(self, record: StepRecord) -> None:
            super().stepped(record)
            if record.step == 5:
                raise Killed

    second = Watcher()
    with pytest.raises(Killed):
        trained(captioner_of(base), tmp_path / "parts", watcher=KilledWatcher())
    with (tmp_path / "parts" / "curve.jsonl").open("a") as file:
        file.write('{"step": 6, "lo')

    trained(captioner_of(base), tmp_path / "parts", watcher=second)

    assert second.notes == ["Resumed after step 3."]
    steps, _validations = read_curve(tmp_path / "parts")
    assert [record.step for record in steps] == list(range(1, 10))
    assert [record.loss for record in steps] == whole


@pytest.mark.long(reason="at least three others run each of its lines")
def test_parts_of_a_step_add_up_to_it(base: Path, tmp_path: Path) -> None:
    captions = [replace(one, caption=f"{one.caption} of one colour") for one in TRAINING[:1]] + TRAINING[1:]
    options = replace(SHORT, steps=1)
    # Dropout draws for each part, so there is none.
    losses = []
    for at_once in (1, 2, 3):
        captioner = captioner_of(base)
        for module in captioner.weights.modules():
            if hasattr(module, "p"):
                module.p = 0.0
        watcher = Watcher()
        trained(
            captioner,
            tmp_path / str(at_once),
            options=replace(options, at_once=at_once),
            watcher=watcher,
            training=captions,
        )
        losses.append((watcher.steps[0].loss, watcher.validations[-1].loss))

    assert losses[0] == pytest.approx(losses[2], rel=1e-5)
    assert losses[1] == pytest.approx(losses[2], rel=1e-5)


class Breaking:
    """A captioner whose loss is not a number from some call on."""

    def __init__(self, captioner: EncoderDecoder, after: int) -> None:
        self._captioner, self._left = captioner, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._captioner, name)

    def loss(self, prepared: Sequence[Any], rows: Sequence[Any]) -> Any:
        self._left -= 1
        return self._captioner.loss(prepared, rows) * (1 if self._left >= 0 else float("nan"))


def test_a_loss_that_is_no_number_stops_it_and_the_best_model_is_kept(base: Path, tmp_path: Path) -> None:
    # A validation before the first step, three steps and a validation; then the fourth step.
    outcome = trained(Breaking(captioner_of(base), 5), tmp_path / "out")

    assert outcome.has_failed
    assert outcome.best is not None
    assert outcome.best.step == 3
    assert "step 4 was not a number" in outcome.reason
    assert captioner_of(tmp_path / "out" / "model").weights.dtype.is_floating_point


def test_a_full_disk_keeps_the_last_checkpoint(
    base: Path, whole: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    trained(captioner_of(base), out, watcher=Watcher(stop_after=2))
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(10, 10, 0))
    with pytest.raises(TrainingError, match="has no room for a checkpoint"):
        trained(captioner_of(base), out)
    monkeypatch.undo()
    second = Watcher()

    trained(captioner_of(base), out, watcher=second)

    assert [one.loss for one in second.steps] == whole[2:]


def test_a_disk_that_fills_up_while_it_writes_keeps_the_last_checkpoint(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    out = tmp_path / "out"
    trained(captioner_of(base), out, watcher=Watcher(stop_after=2))
    monkeypatch.setattr(checkpoints, "_sync", full)

    with pytest.raises(TrainingError, match="has no room for a checkpoint"):
        trained(captioner_of(base), out)

    assert len(list(out.glob("last-*"))) == 1
    assert not list(out.glob("best-*"))


def test_another_training_does_not_continue_in_its_folder(base: Path, tmp_path: Path) -> None:
    trained(captioner_of(base), tmp_path / "out", watcher=Watcher(stop_after=2))

    with pytest.raises(TrainingError, match="belongs to a training with another model"):
        trained(captioner_of(base), tmp_path / "out", run="another")


def test_it_stops_early_where_cider_does_not_rise(base: Path, tmp_path: Path) -> None:
    # Of one image, CIDEr is 0: its words stand in every image.
    outcome = trained(captioner_of(base), tmp_path / "out", options=replace(SHORT, patience=1))

    assert outcome.step == 6
    assert outcome.reason == "CIDEr has not risen in 1 validations, so training stopped."
    assert outcome.best is not None
    assert outcome.best.step == 3


def test_a_caption_that_does_not_fit_the_positions_is_refused(base: Path, tmp_path: Path) -> None:
    long = [*TRAINING, TrainingExample("white", "en", "picture " * 200)]

    with pytest.raises(TrainingError, match=r"longer than the 96 tokens.*image white"):
        trained(captioner_of(base), tmp_path / "out", training=long)


def test_a_pivot_stabilised_model_learns_stabiliser_separator_and_caption(tmp_path: Path) -> None:
    captions = [TrainingExample("red", "en", "a red picture"), TrainingExample("red", "de", "ein rotes Bild")]
    targets = as_targets(captions, TrainingTargets.CONSISTENT)
    folder = tmp_path / "base"
    new_captioner(folder, ["a red picture <de> ein rotes Bild <en> a red picture"], seed=1)
    codes = {"en": "en", "de": "de"}
    options = replace(
        SHORT, steps=40, validate_every=40, learning_rate=1e-2, batch_size=2, targets=TrainingTargets.CONSISTENT
    )
    prompts = {"en": "en:", "de": "de:"}

    trained(
        captioner_of(folder, is_pivot=True, languages=codes, prompts=prompts),
        tmp_path / "out",
        options=options,
        training=targets,
    )

    model = captioner_of(tmp_path / "out" / "model", is_pivot=True, languages=codes, prompts=prompts)
    said = model.caption([model.prepare(picture("red"))], keys=["a"], language="de", decoding=Decoding(max_tokens=20))
    assert said == [GeneratedCaption("ein rotes Bild", "a red picture")]


def test_a_model_trained_for_consistent_decoding_captions_in_every_language_when_it_is_decoded_plainly(
    tmp_path: Path,
) -> None:
    words = {"en": "a red picture", "de": "ein rotes Bild"}
    targets = as_targets([TrainingExample("red", tag, words[tag]) for tag in words], TrainingTargets.CONSISTENT)
    folder = tmp_path / "base"
    new_captioner(folder, [f"a red picture <{tag}> {words[tag]}" for tag in words], seed=1)
    options = replace(
        SHORT,
        steps=40,
        batch_size=2,
        validate_every=40,
        learning_rate=1e-2,
        schedule=RateSchedule.CONSTANT,
        targets=TrainingTargets.CONSISTENT,
    )
    codes = model_options({}, targets, TrainingTargets.CONSISTENT)

    trained(captioner_of(folder, is_pivot=True, **codes), tmp_path / "out", options=options, training=targets)

    model = captioner_of(tmp_path / "out" / "model", is_pivot=True, **codes)
    prepared = [model.prepare(picture("red"))]
    for tag, caption in words.items():
        for stabilisers in (None, ["a red picture"]):
            said = model.caption(
                prepared, keys=["a"], language=tag, decoding=Decoding(max_tokens=20), stabilisers=stabilisers
            )
            assert said == [GeneratedCaption(caption, "a red picture")]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_only_what_follows_the_prompt_is_learned(base: Path) -> None:
    captioner = captioner_of(base, prompts={"en": "a red"})

    row = captioner.row("picture", language="en", stabiliser="")

    plain = captioner_of(base).row("a red picture", language="en", stabiliser="")
    assert row.tokens == plain.tokens
    assert (row.given, plain.given) == (1 + len(row.tokens) - 3, 1)


def test_epochs_have_every_caption_once_and_an_order_of_their_own() -> None:
    options = TrainingOptions(batch_size=4)
    places = [place for step in range(1, 6) for place in examples_of_step(options, 10, step)]

    assert sorted(places[:10]) == sorted(places[10:]) == list(range(10))
    assert places[:10] != places[10:]
    assert places[:4] == examples_of_step(options, 10, 1)
    assert places != [place for step in range(1, 6) for place in examples_of_step(replace(options, seed=1), 10, step)]


def test_the_learning_rate_rises_and_falls_as_asked() -> None:
    options = TrainingOptions(steps=12, warmup_steps=2, learning_rate=1.0)

    assert [learning_rate(options, step) for step in (1, 2, 3, 8, 12)] == pytest.approx([0.5, 1.0, 1.0, 0.5, 0.1])
    cosine = replace(options, schedule=RateSchedule.COSINE)
    assert [learning_rate(cosine, step) for step in (1, 3, 8)] == pytest.approx([0.5, 1.0, 0.5])
    assert learning_rate(replace(options, schedule=RateSchedule.CONSTANT), 12) == 1.0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"steps": 0}, "“steps” must be at least 1."),
        ({"patience": -1}, "“patience” must not be negative."),
        ({"learning_rate": 0.0}, "The learning rate must be above 0"),
        ({"warmup_steps": 20, "steps": 10}, "The warm-up has 20 steps, the training only 10."),
        ({"stepps": 3}, "There is no option “stepps”."),
    ],
)
def test_options_that_cannot_be_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(TrainingError) as refused:
        TrainingOptions.from_dict(values)

    assert said in str(refused.value)


def test_an_image_has_all_its_captions_on_one_side_whatever_else_there_is() -> None:
    captions = [TrainingExample(str(image), tag, "text") for image in range(20) for tag in ("en", "de")]

    training, validation = split_by_image(captions, share=0.2, seed=1)

    assert len({one.image for one in validation}) == 4
    assert not {one.image for one in training} & {one.image for one in validation}
    assert len(training) + len(validation) == 40
    only_english = split_by_image([one for one in captions if one.language == "en"], share=0.2, seed=1)
    assert {one.image for one in only_english[1]} == {one.image for one in validation}
    assert {one.image for one in split_by_image(captions, share=0.2, seed=2)[1]} != {one.image for one in validation}


def test_one_image_alone_cannot_be_split() -> None:
    with pytest.raises(TrainingError, match="for validation: 1"):
        split_by_image([TrainingExample("a", "en", "text")], share=0.5, seed=0)


def test_splits_that_are_empty_or_share_images_or_are_evaluated_are_refused() -> None:
    with pytest.raises(TrainingError, match="no captions for validation"):
        check_split(TRAINING, [])
    with pytest.raises(TrainingError, match="1 image is in training and in validation: red"):
        check_split(TRAINING, TRAINING[:1])
    with pytest.raises(TrainingError, match="1 image belongs to an evaluation set: white"):
        check_split(TRAINING, VALIDATION, evaluated={"white", "other"})
    check_split(TRAINING, VALIDATION, evaluated={"other"})


def test_stabilisers_are_the_english_captions_at_the_same_place() -> None:
    captions = [
        TrainingExample("a", "en", "one"),
        TrainingExample("a", "en", "two"),
        TrainingExample("a", "de", "eins"),
        TrainingExample("a", "de", "zwei"),
        TrainingExample("a", "de", "drei", "given"),
    ]

    assert [one.stabiliser for one in as_targets(captions, TrainingTargets.PIVOT)] == [
        "one",
        "two",
        "one",
        "two",
        "given",
    ]
    assert {one.stabiliser for one in as_targets(captions, TrainingTargets.CONSISTENT)} == {"one"}
    assert {one.stabiliser for one in as_targets(captions, TrainingTargets.PLAIN)} == {""}
    with pytest.raises(TrainingError, match="Image b has neither a stabiliser nor an English caption"):
        as_targets([TrainingExample("b", "de", "eins")], TrainingTargets.PIVOT)


def test_captions_are_read_by_line(tmp_path: Path) -> None:
    file = tmp_path / "captions.jsonl"
    lines = [
        {"image": "a", "captions": ["one", "two  words"], "language": "de"},
        {"image": "b", "caption": "three", "stabiliser": "3"},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    examples = read_examples(file, language="en")

    assert examples == [
        TrainingExample("a", "de", "one"),
        TrainingExample("a", "de", "two words"),
        TrainingExample("b", "en", "three", "3"),
    ]
    assert digest_of(examples) != digest_of(examples[::-1])
