"""A training step of ours beside a bare loop of PyTorch: `python -m benchmarks.training [--model small|blip|2b]`.

The same model, captions, batches and optimiser, on whatever device there is, in turns. `small` is the model from
nothing, `blip` one of the size of BLIP-base and `2b` one of two billion weights, both random: they need a GPU to be of
use, `2b` one of 48 GB. The bare loop prepares
no image, validates nothing and saves nothing; ours does all of it, but only steps are compared.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import django

django.setup()

import numpy as np
from PIL import Image

from benchmarks.harness import arguments, tell
from inference.backends.captioners import Spec
from inference.backends.encoder_decoder import EncoderDecoder, EncoderDecoderBackend
from inference.backends.encoders import device, torch
from inference.services import worker_status
from inference.training.examples import Example
from inference.training.options import TrainingOptions
from inference.training.small import new_captioner
from inference.training.trainer import StepRecord, ValidationRecord, examples_of_step, train_captioner

TURNS, IMAGES, WARM_UP = 5, 64, 3
STEPS = {"small": 30, "blip": 15, "2b": 15}
BATCH = {"small": 16, "blip": 32, "2b": 32}


class _Watcher:
    def __init__(self) -> None:
        self.speeds: list[float] = []

    def stepped(self, record: StepRecord) -> None:
        self.speeds.append(record.images_per_s)

    def resumed(self, step: int) -> None: ...

    def validated(self, record: ValidationRecord) -> None: ...

    def noted(self, message: str) -> None: ...

    def before_saving(self) -> None: ...

    def is_stopped(self) -> bool:
        return False


def main() -> None:
    kind = arguments(__doc__, model="blip" if device() == "cuda" else "small").model
    worker_status.prepare_process(processes=1)
    options = TrainingOptions(
        steps=STEPS[kind], batch_size=BATCH[kind], validate_every=10**6, learning_rate=1e-4, max_tokens=8
    )
    rng = np.random.default_rng(1)
    pictures = {f"{n}": Image.fromarray(rng.integers(0, 255, (96, 96, 3), dtype=np.uint8)) for n in range(IMAGES)}
    words = [f"word{number}" for number in range(500)]
    examples = [Example(name, "en", " ".join(rng.choice(words, 10))) for name in pictures]
    ours: list[float] = []
    bare: list[float] = []
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_training_") as place:
        folder = Path(place) / "base"
        _save(kind, folder, examples)
        for turn in range(TURNS):
            for is_ours in (turn % 2 == 0, turn % 2 != 0):
                captioner = EncoderDecoderBackend().load_folder(Spec("base", "base", {}), folder)
                if is_ours:
                    ours.append(_ours(captioner, examples, pictures, options, Path(place) / f"turn-{turn}"))
                else:
                    bare.append(_bare(captioner, examples, pictures, options))
        about = captioner.describe()
    share = statistics.median(mine / plain for mine, plain in zip(ours, bare, strict=True))
    tell(
        {
            "model": about,
            "ours_images_per_s": round(statistics.median(ours), 2),
            "bare_images_per_s": round(statistics.median(bare), 2),
            "share": round(share, 3),
            "memory": torch().cuda.max_memory_allocated() if device() == "cuda" else None,
        },
        f"Training steps of {about['architecture']} ({about['parameters']} parameters, {about['device']}), "
        f"{options.batch_size} captions each, in turns:\n  bare loop {statistics.median(bare):.1f} images/s, ours "
        f"{statistics.median(ours):.1f}: {100 * share:.0f} %",
    )


def _save(kind: str, folder: Path, examples: list[Example]) -> None:
    if kind == "small":
        new_captioner(folder, [example.caption for example in examples], seed=1)
        return
    from tests.inference.tiny_models import save_large_blip

    save_large_blip(folder, size=kind)


def _ours(
    captioner: EncoderDecoder, examples: list[Example], pictures: dict[str, Any], options: TrainingOptions, folder: Path
) -> float:
    watcher = _Watcher()
    train_captioner(
        captioner,
        run="bench",
        training=examples[:-2],
        validation=examples[-2:],
        read_image=lambda name: pictures[name],
        options=options,
        folder=folder,
        watcher=watcher,
    )
    return statistics.median(watcher.speeds[WARM_UP:])


def _bare(
    captioner: EncoderDecoder, examples: list[Example], pictures: dict[str, Any], options: TrainingOptions
) -> float:
    library, model = torch(), captioner.weights
    chosen = examples[:-2]
    prepared = [captioner.prepare(pictures[example.image]) for example in chosen]
    rows = [captioner.row(example.caption, language="en", stabiliser="") for example in chosen]
    optimiser = library.optim.AdamW(model.parameters(), lr=options.learning_rate)
    is_half = device() == "cuda" and library.cuda.is_bf16_supported()
    model.train()
    speeds = []
    for step in range(1, options.steps + 1):
        began = time.monotonic()
        places = examples_of_step(options, len(chosen), step)
        optimiser.zero_grad(set_to_none=True)
        with library.autocast(device(), library.bfloat16, enabled=is_half):
            loss = captioner.loss([prepared[place] for place in places], [rows[place] for place in places])
        (loss / sum(len(rows[place].tokens) for place in places)).backward()
        library.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        # As ours does, which writes each loss down: on a GPU it waits for the step to be done.
        float(loss.detach())
        speeds.append(len(places) / (time.monotonic() - began))
    return statistics.median(speeds[WARM_UP:])


if __name__ == "__main__":
    main()
