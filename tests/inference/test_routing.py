"""Which worker fits which model: packages, GPUs and memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from research.inference import tasks
from research.inference.backends.captioners import ModelSpec
from research.inference.backends.transformer_files import parameters_here
from research.inference.models import CaptioningModel, Training, Worker
from research.inference.rules.capacity import WorkerCapacity, WorkNeeds, fits
from research.inference.services import executor, training_worker, worker_status
from research.inference.services.routing import needs_of
from research.inference.services.worker_status import gpus_here
from tests.inference.fake_runs import fake, make_run  # noqa: F401 - for all tests here
from tests.inference.trained import make_training
from tests.inference.watched import make_worker

GB = 10**9
TORCH = frozenset({"torch", "transformers"})
TWO_BILLION = WorkNeeds(TORCH, parameters=2 * GB)
SMALL_GPU = WorkerCapacity(TORCH, memory=64 * GB, gpus=1, gpu_memory=4 * GB)
LARGE_GPU = WorkerCapacity(TORCH, memory=64 * GB, gpus=1, gpu_memory=8 * GB)


@pytest.mark.parametrize(
    ("needs", "capacity", "is_fitting"),
    [
        (TWO_BILLION, LARGE_GPU, True),
        (TWO_BILLION, SMALL_GPU, False),
        (TWO_BILLION, WorkerCapacity(TORCH, memory=64 * GB, gpus=1, gpu_memory=None), True),
        (TWO_BILLION, WorkerCapacity(TORCH, memory=8 * GB), False),
        (TWO_BILLION, WorkerCapacity(TORCH, memory=10 * GB), True),
        (TWO_BILLION, WorkerCapacity(TORCH, memory=None), True),
        (TWO_BILLION, WorkerCapacity(frozenset({"torch"}), memory=64 * GB), False),
        (WorkNeeds(TORCH, 2 * GB, is_spread=True), WorkerCapacity(TORCH, 64 * GB, gpus=2, gpu_memory=4 * GB), True),
        (WorkNeeds(TORCH, 2 * GB), WorkerCapacity(TORCH, 64 * GB, gpus=2, gpu_memory=4 * GB), False),
        (WorkNeeds(TORCH, 2 * GB, gpu_bytes=0.6, takes_gpu=True), SMALL_GPU, True),
        (WorkNeeds(TORCH, 2 * GB, gpu_bytes=0.6, takes_gpu=True), WorkerCapacity(TORCH, memory=64 * GB), False),
        (WorkNeeds(), WorkerCapacity(), True),
    ],
)
def test_a_model_fits_where_its_packages_are_and_its_weights_have_room(needs, capacity, is_fitting):
    assert fits(needs, capacity) is is_fitting


@pytest.fixture
def folder(settings, tmp_path: Path) -> Path:
    """A model of 3,000 weights, in two files whose numbers nobody reads."""
    settings.MODELS_FOLDER = tmp_path
    made = tmp_path / "tiny"
    made.mkdir()
    (made / "config.json").write_text('{"model_type": "blip"}')
    for name, shape in (("one", [1000, 2]), ("two", [10, 10, 10])):
        header = json.dumps({"__metadata__": {"format": "pt"}, "weight": {"dtype": "F32", "shape": shape}}).encode()
        (made / f"{name}.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    return made


def make_model(**options: Any) -> CaptioningModel:
    about = {"name": "Tiny", "backend": "encoder-decoder", "source": "tiny", "is_shared": True}
    return CaptioningModel.objects.create(**about, options=options)


def test_weights_are_counted_without_reading_them(folder):
    assert parameters_here(ModelSpec("Tiny", "tiny", {})) == 3000
    assert parameters_here(ModelSpec("Tiny", "elsewhere", {})) == 0
    (folder / "two.safetensors").write_bytes(b"cut off")
    assert parameters_here(ModelSpec("Tiny", "tiny", {})) == 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "precision", "expected"),
    [
        ({}, "auto", WorkNeeds(TORCH, 3000)),
        ({}, "float32", WorkNeeds(TORCH, 3000, gpu_bytes=4.0)),
        ({}, "float16", WorkNeeds(TORCH, 3000, cpu_bytes=2.0)),
        ({"device_map": "auto"}, "auto", WorkNeeds(TORCH | {"accelerate"}, 3000, is_spread=True)),
        (
            {"quantisation": "4bit"},
            "auto",
            WorkNeeds(TORCH | {"accelerate", "bitsandbytes"}, 3000, gpu_bytes=0.6, takes_gpu=True),
        ),
    ],
)
def test_options_say_what_a_model_needs(folder, options, precision, expected):
    model = make_model(**options)
    assert needs_of(model, precision=precision) == expected


@pytest.fixture
def driver(tmp_path: Path, monkeypatch) -> Iterator[Path]:
    """A driver of two GPUs, one of them small."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        "#!/bin/sh\necho '0, GPU-8f6a, 81559, NVIDIA H100 80GB HBM3'\necho '1, GPU-17c2, 16384, NVIDIA T4'\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    gpus_here.cache_clear()
    yield tool
    gpus_here.cache_clear()


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["NVIDIA H100 80GB HBM3", "NVIDIA T4"]),
        ("1", ["NVIDIA T4"]),
        ("1,0", ["NVIDIA T4", "NVIDIA H100 80GB HBM3"]),
        ("GPU-17", ["NVIDIA T4"]),
        ("", []),
        ("-1", []),
    ],
)
def test_a_process_counts_the_gpus_that_it_may_use(driver, settings, visible, names):
    settings.CUDA_VISIBLE_DEVICES = visible
    assert [gpu.name for gpu in gpus_here()] == names


def test_a_driver_that_fails_leaves_no_gpu(driver, caplog):
    driver.write_text("#!/bin/sh\necho 'No devices were found'\n")
    assert gpus_here() == ()
    assert "nvidia-smi does not say which GPUs there are" in caplog.text


@pytest.mark.django_db
def test_a_worker_reports_what_it_has(driver, settings):
    settings.CUDA_VISIBLE_DEVICES = "1"
    worker_status.report_worker(worker="host:1", queues=["gpu"], now=timezone.now())
    worker = Worker.objects.get()
    assert (worker.gpus, worker.device_memory_total, worker.device) == (1, 16384 * 2**20, "NVIDIA T4")
    assert {"torch", "peft"} <= set(worker.packages.split(",")) or "torch" not in worker.packages
    assert worker_status.capacity_of(worker) == worker_status.own_capacity()


@pytest.mark.django_db
class TestSent:
    @pytest.fixture(autouse=True)
    def _small_process(self, monkeypatch):
        monkeypatch.setattr(worker_status, "own_capacity", lambda: WorkerCapacity(TORCH, memory=10_000))

    @pytest.fixture
    def sent(self, monkeypatch) -> list[Any]:
        sent: list[Any] = []
        for task in (tasks.work_on, tasks.train):
            monkeypatch.setattr(task, "apply_async", lambda args, **about: sent.append((*args, about["queue"])))
        return sent

    @pytest.fixture
    def worked(self, monkeypatch) -> list[int]:
        worked: list[int] = []
        monkeypatch.setattr(executor, "execute_run", lambda *, run_id, **_about: worked.append(run_id))
        monkeypatch.setattr(
            training_worker, "execute_training", lambda *, training_id, **_about: worked.append(training_id)
        )
        return worked

    @pytest.mark.parametrize(("memory", "is_handed_on"), [(12_000, False), (16_000, True)])
    def test_a_run_goes_where_its_weights_have_room(self, folder, sent, worked, memory, is_handed_on):
        """3,000 weights of 4 bytes need 14,400 with what is computed."""
        run = make_run(3, model=make_model(), languages=["en"])
        make_worker(queues="gpu", software="PyTorch 2.13.0", machine_memory=memory)
        tasks.work_on(run.pk)
        assert (sent, worked) == (([(run.pk, "gpu")], []) if is_handed_on else ([], [run.pk]))

    @pytest.mark.parametrize("until_s", [60, -1])
    def test_a_run_that_somebody_is_at_is_left_to_them(self, folder, sent, worked, monkeypatch, until_s):
        """By `caption_images`, which listens to no queue, or by a worker that is too busy to report."""
        monkeypatch.setattr(worker_status, "own_capacity", WorkerCapacity)
        run = make_run(3, model=make_model(), languages=["en"])
        run.chunks.update(state="running", holder="lab:1", lease_until=timezone.now() + timedelta(seconds=until_s))
        tasks.work_on(run.pk)
        assert (sent, worked) == (([(run.pk, "gpu")], []) if until_s > 0 else ([], [run.pk]))

    @pytest.mark.parametrize(
        ("packages", "is_handed_on"), [("torch,transformers", False), ("peft,torch,transformers", True)]
    )
    def test_a_training_with_lora_goes_where_peft_is(self, sent, worked, packages, is_handed_on):
        training = make_training()
        Training.objects.filter(pk=training.pk).update(options=training.options | {"method": "lora"}, queue="gpu")
        make_worker(queues="gpu", packages=packages)
        tasks.train(training.pk)
        assert (sent, worked) == (([(training.pk, "gpu")], []) if is_handed_on else ([], [training.pk]))
