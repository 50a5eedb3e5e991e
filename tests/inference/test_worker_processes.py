"""Processes of workers: they share a machine's cores, compute in one thread, and keep memory for the next batch."""

from __future__ import annotations

import ctypes
import os
import sys
import textwrap
import threading
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from celery import signals
from celery.concurrency.solo import TaskPool
from django.utils import translation
from django.utils.translation import gettext

from research.inference import tasks
from research.inference.backends import allocator
from research.inference.services import worker_status
from research.inference.services.model_cache import DeviceThread
from tests.commands import run_python
from tests.torch_extra import needs_torch

IN_A_THREAD = textwrap.dedent(
    """
    import resource, sys, threading
    import numpy as np
    from research.inference.backends import allocator

    MIB = 1 << 20

    def faults():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    def work():
        np.ones(64 * MIB, dtype=np.uint8)
        before = faults()
        for _ in range(5):
            np.ones(64 * MIB, dtype=np.uint8)
        print(faults() - before)

    def in_a_thread(function):
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()

    if "shared at first" in sys.argv:
        allocator.share_one_arena()
    if "threads before" in sys.argv:
        # It leaves its arena to the next one.
        in_a_thread(lambda: np.ones(1000))
    if "kept" in sys.argv and not allocator.keep_freed_memory():
        print("no such settings")
        raise SystemExit
    in_a_thread(work)
    """
)
STARTED = """
from config.celery import app
app.Worker(pool="prefork", concurrency={processes})
import torch
print("threads:", torch.get_num_threads())
"""


def faults(*how: str) -> int:
    said = run_python("-c", IN_A_THREAD, *how)
    if said.startswith("no such"):
        pytest.skip("the C library of this system has no such settings")
    return int(said)


@pytest.mark.process
def test_large_pieces_are_not_taken_from_the_system_again_and_again():
    assert faults("kept") * 10 < faults()


@pytest.mark.process
@pytest.mark.long(reason="it looks for what happens by chance in five processes")
def test_a_process_that_shares_one_arena_at_first_may_have_had_threads_before():
    # Which arena a thread is given is up to the C library: now and then the right one by chance.
    before = max(faults("threads before", "kept") for _ in range(3))
    assert faults("shared at first", "threads before", "kept") * 10 < before


def test_where_the_c_library_is_another_nothing_is_kept_and_nothing_breaks(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    allocator.keep_freed_memory.cache_clear()
    try:
        assert allocator.keep_freed_memory() is False
        allocator.give_freed_memory_back()
    finally:
        allocator.keep_freed_memory.cache_clear()


def thread_of(device: DeviceThread) -> int:
    return device.submit(threading.get_ident).result(timeout=10)


def test_all_that_is_computed_is_so_in_one_thread_beside():
    with DeviceThread() as first:
        one = thread_of(first)
    with DeviceThread() as second:
        assert thread_of(second) == one != threading.get_ident()


def test_sentences_are_in_the_language_of_the_one_who_asked():
    with translation.override("ar"), DeviceThread() as arabic:
        wanted = gettext("Images")
    with DeviceThread() as english:
        assert english.submit(gettext, "Images").result(timeout=10) == "Images"
        assert arabic.submit(gettext, "Images").result(timeout=10) == wanted != "Images"


def test_what_has_begun_is_waited_for_and_what_has_not_is_not_done():
    begun, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def long() -> None:
        begun.set()
        assert go_on.wait(10)
        done.append("long")

    device = DeviceThread()
    running = device.submit(long)
    waiting: Future[None] = device.submit(done.append, "never")
    assert begun.wait(10)
    threading.Timer(0.05, go_on.set).start()
    device.__exit__(None, None, None)
    assert (done, running.done(), waiting.cancelled()) == (["long"], True, True)


def test_what_is_raised_there_is_raised_here():
    with DeviceThread() as device, pytest.raises(ZeroDivisionError):
        device.submit(lambda: 1 // 0).result(timeout=10)


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
