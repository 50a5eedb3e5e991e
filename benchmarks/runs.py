"""What the platform costs a captioning model: `python -m benchmarks.runs --what stored|overhead|device`.

stored    a model of zero cost: captions stored per second, in one language and in 36.
overhead  a BLIP of the size of BLIP-base, with random weights, on whatever device there is: a run over images beside
          a bare loop of the same model over the same images (read, prepare, caption, batch by batch), in turns.
device    the same with many images and, of each run, the share of the time in which the device was busy.

`--model 2b` has two billion weights in place of BLIP-base's, for a GPU.

Run in the environment of the database to measure.
"""

from __future__ import annotations

import io
import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import django

django.setup()

import numpy as np
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from PIL import Image as Pillow

from benchmarks.harness import Timed, arguments, tell, timed
from images.models import Collection, CollectionImage, Image, JobState
from images.services import file_storage
from inference.backends.captioners import Decoding, GeneratedCaption
from inference.models import CaptioningModel, Run
from inference.services import model_cache, runs, worker_status
from inference.services.executor import execute_run
from inference.services.image_reading import read_image
from inference.services.worker_status import meter
from languages.models import Language
from tests.inference import fake_backend

STORED = {1: 10_000, 36: 1000}
"""Languages, and images captioned in them."""

ROUNDS = 5
IMAGES = {"overhead": 12, "device": 512}
SIZE = (640, 480)
DECODING = Decoding(max_tokens=12, min_tokens=12)


def main() -> None:
    asked = arguments(__doc__, what="stored", model="blip")
    call_command("migrate", verbosity=0)
    if asked.what == "stored":
        measure_stored()
    else:
        measure_beside_bare(IMAGES[asked.what], asked.model)


def measure_stored() -> None:
    fake_backend.register()
    result: dict[str, Any] = {"database": connection.vendor}
    for languages, images in STORED.items():
        collection = make_collection(f"stored-{languages}", [b"%d %d" % (languages, n) for n in range(images)])
        speeds: list[float] = []
        cpu: list[float] = []
        for turn in range(ROUNDS):
            model = CaptioningModel.objects.create(is_shared=True, name=f"zero {languages} {turn}", backend="fake")
            tags = [entry for entry in Language.objects.order_by("pk") if entry.pk != "quz"]
            took = timed_run(model, collection, tags[:languages])
            speeds.append(images * min(languages, len(tags)) / took.wall_s)
            cpu.append(images * min(languages, len(tags)) / took.cpu_s)
        result[f"{languages}_languages"] = {
            "images": images,
            "captions_per_s": round(statistics.median(speeds)),
            "captions_per_cpu_s": round(statistics.median(cpu)),
        }
    one, many = (result[f"{languages}_languages"]["captions_per_s"] for languages in STORED)
    tell(
        result,
        f"Runs, a model of zero cost, {connection.vendor}: {one:,} captions/s stored in one language, {many:,} in 36",
    )


def measure_beside_bare(count: int, size: str) -> None:
    """Both in turns, with the model loaded once; who goes first changes."""
    from tests.inference.tiny_models import save_large_blip

    worker_status.prepare_process(processes=1)
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_models_") as folder:
        settings.MODELS_FOLDER = folder
        save_large_blip(Path(folder) / "blip", size=size)
        collection = make_collection("images", [noise_image(number) for number in range(count)])
        bare: list[Timed] = []
        ours: list[Timed] = []
        busy: list[float] = []
        first = blip("blip")
        model_cache.captioner(first).describe()
        # Warms both up: either has a thread of its own.
        english = Language.objects.filter(pk="en")
        timed_run(first, collection, english)
        bare_loop(first, collection)
        for turn in range(ROUNDS):
            model = blip(f"blip {turn}")
            for is_ours in (turn % 2 == 0, turn % 2 != 0):
                if is_ours:
                    ours.append(timed_run(model, collection, english))
                    busy.append(meter.busy_s / ours[-1].wall_s)
                else:
                    bare.append(bare_loop(model, collection))
        about = model_cache.captioner(first).describe()
    wall = [mine.wall_s / plain.wall_s - 1 for mine, plain in zip(ours, bare, strict=True)]
    # Where the machine has other work as well, the processor's time says more than the wall's.
    cpu = [mine.cpu_s / plain.cpu_s - 1 for mine, plain in zip(ours, bare, strict=True)]
    result = {
        "model": about,
        "images": count,
        "bare_images_per_s": round(count / statistics.median(one.wall_s for one in bare), 3),
        "run_images_per_s": round(count / statistics.median(one.wall_s for one in ours), 3),
        "overhead_percent": round(100 * statistics.median(wall), 2),
        "overhead_percent_of_each": [round(100 * ratio, 2) for ratio in wall],
        "cpu_overhead_percent": round(100 * statistics.median(cpu), 2),
        "cpu_overhead_percent_of_each": [round(100 * ratio, 2) for ratio in cpu],
        "device_busy": round(statistics.median(busy), 3),
    }
    tell(
        result,
        f"  a model of {about['parameters']} weights ({about['device']}), {count} images, in turns:\n"
        f"  bare loop {result['bare_images_per_s']} images/s, run {result['run_images_per_s']}: overhead "
        f"{result['overhead_percent']} % (of the processor's time {result['cpu_overhead_percent']} %), "
        f"device busy {100 * statistics.median(busy):.0f} % of the time",
    )


def blip(name: str) -> CaptioningModel:
    return CaptioningModel.objects.create(is_shared=True, name=name, backend="encoder-decoder", source="blip")


def timed_run(model: CaptioningModel, collection: Collection, languages: Any) -> Timed:
    """A run from its start to its end, in this process."""
    meter.reset()
    start = partial(runs.start, is_shared=True, model=model, collection=collection, languages=list(languages))

    def execute() -> Run:
        run = start(decoding=DECODING, by=None, now=timezone.now())
        while execute_run(run_id=run.pk, worker="bench:1", clock=timezone.now):
            pass
        return run

    took = timed(execute)
    run = Run.objects.get(pk=took.answer.pk)
    assert (run.state, run.done, run.failed) == ("done", run.total, 0), run.error
    return took


def bare_loop(model: CaptioningModel, collection: Collection) -> Timed:
    """What a script would do."""
    captioner = model_cache.captioner(model)
    images = list(Image.objects.filter(collections=collection).order_by("entries__position"))
    said: list[Any] = []

    def loop() -> None:
        for start in range(0, len(images), captioner.batch_size):
            batch = images[start : start + captioner.batch_size]
            decoded = [read_image(one.original, side=captioner.side, pixels=0) for one in batch]
            prepared = [captioner.prepare(one) for one in decoded]
            keys = [one.sha256 for one in batch]
            said.extend(captioner.caption(prepared, keys=keys, language="en", decoding=DECODING))

    took = timed(loop)
    assert all(isinstance(one, GeneratedCaption) for one in said), said
    return took


def noise_image(number: int) -> bytes:
    """Smooth colours, as photographs compress."""
    coarse = np.random.default_rng(number).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    file = io.BytesIO()
    Pillow.fromarray(coarse).resize(SIZE, Pillow.Resampling.BICUBIC).save(file, "JPEG", quality=90)
    return file.getvalue()


def make_collection(name: str, contents: Sequence[bytes]) -> Collection:
    collection = Collection.objects.create(is_shared=True, slug=name, name=name)
    images = []
    for content in contents:
        digest = sha256(content).hexdigest()
        if len(content) > 100:
            file_storage.put(f"originals/{digest}", content)
        images.append(
            Image(
                sha256=digest,
                original=f"originals/{digest}",
                format="JPEG",
                bytes=len(content),
                width=SIZE[0],
                height=SIZE[1],
                sizes_state=JobState.DONE,
            )
        )
    CollectionImage.objects.bulk_create(
        CollectionImage(collection=collection, image=image, key=f"{name}-{position}", position=position)
        for position, image in enumerate(Image.objects.bulk_create(images), start=1)
    )
    return collection


if __name__ == "__main__":
    main()
