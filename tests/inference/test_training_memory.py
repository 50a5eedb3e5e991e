"""Trainings on a device whose memory is full: fewer captions at once, and the same losses."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from research.inference.backends.captioners import OutOfMemoryError
from research.inference.backends.encoder_decoder import EncoderDecoder
from research.inference.training.options import TrainingError, TrainingPrecision
from tests.inference.trained import (
    SHORT,
    Watcher,
    captioner_of,
    trained,
)
from tests.torch_extra import needs_torch

pytestmark = [needs_torch, pytest.mark.usefixtures("smaller")]


class Narrow:
    """A captioner on a device that takes so many rows at once."""

    def __init__(self, captioner: EncoderDecoder, most: int) -> None:
        self._captioner, self._most = captioner, most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._captioner, name)

    def loss(self, prepared: Sequence[Any], rows: Sequence[Any]) -> Any:
        if len(rows) > self._most:
            raise OutOfMemoryError
        return self._captioner.loss(prepared, rows)


def test_where_memory_is_full_fewer_captions_are_computed_at_once(base: Path, tmp_path: Path) -> None:
    watcher = Watcher()

    outcome = trained(Narrow(captioner_of(base), 1), tmp_path / "out", watcher=watcher)

    assert outcome.step == 9
    assert watcher.notes == [
        "The memory was full: from here, 2 captions are computed at once. A step still has 3.",
        "The memory was full: from here, 1 captions are computed at once. A step still has 3.",
    ]


def test_memory_that_runs_out_anywhere_in_a_step_leaves_the_losses_as_they_are(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    alone, watcher = Watcher(), Watcher()
    trained(captioner_of(base), tmp_path / "alone", options=replace(SHORT, at_once=1), watcher=alone)
    stack, step, loss = torch.stack, torch.optim.AdamW.step, EncoderDecoder.loss
    rows_at_once: list[int] = []

    def full(*_given: Any) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    def counted(self: EncoderDecoder, prepared: Sequence[Any], rows: Sequence[Any]) -> Any:
        rows_at_once.append(len(rows))
        return loss(self, prepared, rows)

    def stepped(self: Any, *given: Any, **named: Any) -> Any:
        assert len(self.state) == sum(len(group["params"]) for group in self.param_groups), "made before the first step"
        return step(self, *given, **named) if max(rows_at_once[-2:]) == 1 else full()

    def stacked(rows: Sequence[Any], *given: Any) -> Any:
        # Norms of gradients are stacked as well.
        return full() if len(rows) > 2 and rows[0].ndim == 3 else stack(rows, *given)

    monkeypatch.setattr(torch, "stack", stacked)
    monkeypatch.setattr(torch.optim.AdamW, "step", stepped)
    monkeypatch.setattr(EncoderDecoder, "loss", counted)
    trained(captioner_of(base), tmp_path / "out", watcher=watcher)

    assert [one.loss for one in watcher.steps] == [one.loss for one in alone.steps]
    assert [one.partition(" captions are")[0] for one in watcher.notes] == [
        "The memory was full: from here, 2",
        "The memory was full: from here, 1",
    ]


@pytest.mark.parametrize("enabled", [True, False])
def test_gradients_that_were_scaled_before_memory_ran_out_are_scaled_again(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enabled: bool
) -> None:
    import torch

    precision = TrainingPrecision.FLOAT16 if enabled else TrainingPrecision.FLOAT32
    step, failures = torch.optim.AdamW.step, [True]

    def fails_once(self: Any, *given: Any, **named: Any) -> Any:
        if failures:
            failures.clear()
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return step(self, *given, **named)

    monkeypatch.setattr(torch.optim.AdamW, "step", fails_once)
    options = replace(SHORT, steps=2, validate_every=2, precision=precision)
    watcher = Watcher()

    assert trained(captioner_of(base), tmp_path / "out", options=options, watcher=watcher).step == 2
    assert len(watcher.notes) == 1
    assert not failures


def test_nothing_of_the_captions_that_did_not_fit_is_alive_when_fewer_are_computed(base: Path, tmp_path: Path) -> None:
    tensors: list[weakref.ref[Any]] = []

    class Full(Narrow):
        def loss(self, prepared: Sequence[Any], rows: Sequence[Any]) -> Any:
            hidden = self._captioner.weights.decoder.lm_head.weight * 2
            tensors.append(weakref.ref(hidden))
            if len(rows) > self._most:
                raise RuntimeError("CUDA error: out of memory")
            return self._captioner.loss(prepared, rows)

    class Counter(Watcher):
        def noted(self, message: str) -> None:
            self.notes.append(str(sum(one() is not None for one in tensors)))

    watcher = Counter()
    gc.disable()
    try:
        trained(Full(captioner_of(base), 1), tmp_path / "out", options=replace(SHORT, steps=1), watcher=watcher)
    finally:
        gc.enable()

    assert watcher.notes == ["0", "0"]


def test_a_caption_that_never_fits_is_said(base: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="Not even one caption fits"):
        trained(Narrow(captioner_of(base), 0), tmp_path / "out")
