"""Worker processes of one machine share its cores, and a device that has failed does not silence them."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from celery import signals
from celery.concurrency.solo import TaskPool

from research.inference import tasks
from research.inference.services import worker_status
from tests.commands import run_python
from tests.torch_extra import needs_torch

STARTED = """
from config.celery import app
app.Worker(pool="prefork", concurrency={processes})
import torch
print("threads:", torch.get_num_threads())
"""


@pytest.fixture(autouse=True)
def unsaid(monkeypatch: pytest.MonkeyPatch) -> None:
    # Set first, so that it is as it was when the test is over.
    monkeypatch.setenv(worker_status.THREADS_VARIABLE, "")
    monkeypatch.delenv(worker_status.THREADS_VARIABLE)


@pytest.mark.parametrize(("cores", "processes", "threads"), [(8, 2, "4"), (2, 2, "1"), (2, 4, "1"), (9, 2, "4")])
def test_each_process_has_its_part_of_the_cores(monkeypatch, cores: int, processes: int, threads: str):
    monkeypatch.setattr(worker_status, "cores", lambda: cores)
    tasks._prepare_process(SimpleNamespace(pool_cls="prefork", concurrency=processes))
    assert os.environ[worker_status.THREADS_VARIABLE] == threads


@pytest.mark.parametrize(("pool", "processes"), [("prefork", 1), ("solo", 8), (TaskPool, 8), ("prefork", "auto")])
def test_a_process_that_is_alone_has_all_cores(pool: object, processes: object):
    tasks._prepare_process(SimpleNamespace(pool_cls=pool, concurrency=processes))
    assert worker_status.THREADS_VARIABLE not in os.environ


@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_a_worker_shares_one_arena_before_it_has_threads(monkeypatch, pool: str):
    shared: list[str] = []
    monkeypatch.setattr(worker_status, "share_one_arena", lambda: shared.append(pool))
    tasks._prepare_process(SimpleNamespace(pool_cls=pool, concurrency=2))
    assert shared == [pool]


def test_what_the_operator_says_stays(monkeypatch):
    monkeypatch.setenv(worker_status.THREADS_VARIABLE, "3")
    tasks._prepare_process(SimpleNamespace(pool_cls="prefork", concurrency=8))
    assert os.environ[worker_status.THREADS_VARIABLE] == "3"


def test_a_worker_of_celery_calls_it_before_its_processes_are_forked_off():
    before_forking: Any = signals.worker_init
    assert tasks._prepare_process in before_forking._live_receivers(None)


@pytest.mark.process
@pytest.mark.long(reason="a worker of its own, which imports PyTorch")
@needs_torch
def test_pytorch_computes_on_the_threads_that_are_left_to_the_process():
    environment = {name: value for name, value in os.environ.items() if name != worker_status.THREADS_VARIABLE}
    code = STARTED.format(processes=max(2, worker_status.cores()))
    said = run_python("-c", code, env=environment | {"DJANGO_SETTINGS_MODULE": "config.settings"})
    assert said.rpartition("threads:")[2].strip() == "1"


def test_a_device_that_has_failed_does_not_silence_its_worker(monkeypatch):
    def fail() -> None:
        raise RuntimeError("CUDA error: device-side assert triggered")

    cuda = SimpleNamespace(is_available=lambda: True, mem_get_info=fail)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))

    assert worker_status._device() == ("GPU: RuntimeError", None, None)
