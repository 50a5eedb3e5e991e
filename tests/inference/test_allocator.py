"""Memory that a model frees is kept for the next batch, and given back with the model."""

from __future__ import annotations

import ctypes
import textwrap

import pytest

from research.inference.backends import allocator
from tests.commands import run_python

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
