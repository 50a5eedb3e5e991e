"""Models compute in one thread of a process, whoever asks, which nothing is left in by who has gone."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest
from django.utils import translation
from django.utils.translation import gettext

from research.inference.services.model_cache import DeviceThread


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
