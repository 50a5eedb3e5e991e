"""A device whose memory is full: what is tried next, and what is left of the batch that did not fit."""

from __future__ import annotations

import gc
import logging
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from PIL import Image

from research.inference.backends.captioners import BackendSettingsError, OutOfMemoryError
from research.inference.backends.encoders import in_batches
from research.inference.backends.memory import BatchAttempt, MemoryGuard, has_run_out, in_halves, moved_model
from research.inference.services import embedding
from tests.inference.embedded import MeanColours


class Tensor:
    """Something that fills memory as long as it lives."""


class Device:
    """Holds so many rows at once; `alive` has, for each batch, how many tensors of earlier ones were still there."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.alive: list[int] = []
        self.sizes: list[int] = []
        self._tensors: list[weakref.ref[Tensor]] = []

    def count_alive(self) -> int:
        return sum(one() is not None for one in self._tensors)

    def compute(self, rows: Sequence[int]) -> list[int]:
        self.alive.append(self.count_alive())
        self.sizes.append(len(rows))
        with MemoryGuard():
            return self._run(rows)

    def _run(self, rows: Sequence[int]) -> list[int]:
        copied = self._tensor()
        with wrapped():
            self._forward(rows)
        return [row for row in rows if copied]

    def _forward(self, rows: Sequence[int]) -> None:
        hidden = self._tensor()
        if len(rows) > self.room:
            raise RuntimeError(f"CUDA error: out of memory, with {hidden}")

    def _tensor(self) -> Tensor:
        one = Tensor()
        self._tensors.append(weakref.ref(one))
        return one


@contextmanager
def wrapped() -> Iterator[None]:
    """Raises another exception, as packages do: from Python 3.12 on, its frames hold each other."""
    try:
        yield
    except RuntimeError as error:
        raise OutOfMemoryError(str(error)) from error


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Nobody collects what holds itself: in the middle of a batch, nobody does."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_nothing_of_a_batch_that_did_not_fit_is_alive_when_a_smaller_one_is_tried(caplog) -> None:
    device, rows = Device(room=2), list(range(9))

    results, size = in_halves(lambda chosen: device.compute(rows[chosen]), len(rows), size=8)

    assert (results, size) == (rows, 2)
    assert device.sizes == [8, 4, 2, 2, 2, 2, 1]
    assert device.alive == [0] * 7
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [one.partition(" (")[0] for one in said] == [
        "Memory ran out for 8 at once. Going on with 4.",
        "Memory ran out for 4 at once. Going on with 2.",
    ]


@pytest.mark.usefixtures("uncollected")
def test_an_attempt_leaves_nothing_before_it_empties_the_cache(monkeypatch) -> None:
    device, alive = Device(room=0), []
    monkeypatch.setattr("research.inference.backends.memory._empty_cache", lambda: alive.append(device.count_alive()))

    with BatchAttempt() as attempt:
        device.compute([1])

    assert attempt.has_run_out
    assert alive == [0]


def test_an_item_that_does_not_fit_by_itself_leaves_the_others_together() -> None:
    sizes = []

    def compute(chosen: slice) -> list[int]:
        rows = list(range(8))[chosen]
        sizes.append(len(rows))
        if 2 in rows:
            raise MemoryError
        return rows

    results, size = in_halves(compute, 8, size=4, too_large=lambda: -1)

    assert (results, size) == ([0, 1, -1, 3, 4, 5, 6, 7], 4)
    assert sizes == [4, 2, 2, 1, 4, 1]
    with pytest.raises(OutOfMemoryError):
        in_halves(compute, 8, size=4)


def test_fewer_images_and_texts_are_encoded_at_once_where_memory_runs_out(monkeypatch) -> None:
    encoder: Any = MeanColours()
    images = [Image.new("RGB", (4, 4), (shade, 0, 0)) for shade in range(5)]
    features, vectors = MeanColours.features_of, MeanColours.vectors

    def narrow(compute: Callable[..., Any]) -> Callable[..., Any]:
        def computed(self: MeanColours, rows: Sequence[Any]) -> Any:
            if len(rows) > 2:
                raise RuntimeError("CUDA error: out of memory")
            return compute(self, rows)

        return computed

    monkeypatch.setattr(MeanColours, "features_of", narrow(features))
    monkeypatch.setattr(MeanColours, "vectors", narrow(vectors))

    assert in_batches(encoder, images)[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert in_batches(encoder, []).shape == (0, 3)
    assert embedding._computed(encoder, ["rrr", "", "r", "rr", "r"])[:, 0].tolist() == [4, 1, 2, 3, 2]
    assert encoder.batches == [2, 2, 1, 2, 2]


class PyTorchsError(RuntimeError):
    """PyTorch's error, which may say anything."""


PyTorchsError.__name__ = "OutOfMemoryError"


@pytest.mark.parametrize(
    ("error", "is_told"),
    [
        (PyTorchsError(), True),
        (MemoryError(), True),
        (OutOfMemoryError(), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("MPS backend out of memory"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes."), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("shapes do not fit"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_memory_that_ran_out_is_told_from_other_errors(error: Exception, is_told: bool) -> None:
    assert has_run_out(error) is is_told
    with pytest.raises(OutOfMemoryError if is_told else type(error)), MemoryGuard():
        raise error


def test_a_model_that_has_no_room_is_said_in_a_sentence() -> None:
    class Large:
        def to(self, place: str) -> None:
            raise PyTorchsError(f"{place} out of memory. Tried to allocate 80.00 GiB.\nSee more")

    with pytest.raises(
        BackendSettingsError, match=r"memory of the device \(CUDA out of memory. Tried to allocate 80.00 GiB.\)"
    ):
        moved_model(Large(), "CUDA")
