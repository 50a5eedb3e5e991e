"""A batch on screen 2 without a network, in WebKit and in Firefox; test_offline.py has each rule of it, in Chromium."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from annotation.models import CaptionBatch, Stage
from core.people.models import User
from tests.browser.annotator import open_writing
from tests.browser.conftest import Opener
from tests.browser.elsewhere import STATE, sign_in, sit_down, wait_for_image, written
from tests.browser.network import Network
from tests.browser.windows import DriverError, Profile, Window

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.long(reason="Chromium goes the same way in test_offline.py"),
]

SIZE = 4
TEXTS = [f"కుర్చీ మీద నిద్రపోతున్న పిల్లి {number}" for number in range(1, SIZE + 1)]
OFFLINE = "Offline, kept on this device"
IS_KEPT = "return !document.querySelector('[data-kept]').hidden"
IS_SHOWN = (
    "const { complete, naturalWidth } = document.querySelector('#zoom-link img'); return complete && naturalWidth"
)
SETTLED_S = 3.0


@pytest.fixture
def network(live_server: Any) -> Iterator[Network]:
    network = Network(live_server.url)
    yield network
    network.down()


def open_batch(window: Window, network: Network) -> CaptionBatch:
    batch = sit_down(window, network.address, images=SIZE)
    open_writing(batch, batch.lease.person)
    window.open(writing(network, batch, 1))
    return batch


def writing(network: Network, batch: CaptionBatch, position: int) -> str:
    return f"{network.address}/batches/{batch.pk}/write/{position}/"


def write_offline(window: Window, position: int) -> None:
    wait_for_image(window, position)
    window.wait_for(IS_SHOWN)
    window.fill("#text", TEXTS[position - 1])
    window.wait_for_text(STATE, OFFLINE)


def test_a_batch_is_written_with_no_network_at_all_and_the_browser_is_killed(
    opened: Opener, profile: Profile, network: Network
) -> None:
    with opened(profile) as window:
        batch = open_batch(window, network)
        window.wait_for(IS_KEPT)
        # The worker takes over pages that are opened from then on.
        window.open(writing(network, batch, 1))
        window.wait_for("return navigator.serviceWorker.controller !== null")
        network.down()
        for position in (1, 2):
            write_offline(window, position)
            window.click("#write button[value=following]")
        wait_for_image(window, 3)
        window.kill()
    with opened(profile) as window:
        window.open(writing(network, batch, 3))
        window.wait_for("return document.querySelectorAll('.steps .is-done').length === 2")
        write_offline(window, 3)
        window.click("#write button[value=following]")
        write_offline(window, 4)
        window.click("#write button[value=finish]")
        window.wait_for_text("#status", "Review them when you have a connection again.")
        window.click(".steps li:nth-child(2) a")
        wait_for_image(window, 2, text=TEXTS[1])
        assert written(batch) == [""] * SIZE

        network.up()
        # A killed browser has forgotten its session.
        sign_in(window, User.objects.get(username="amal"), network.address)
        window.open(writing(network, batch, 2))
        window.wait_for("return !Object.keys(localStorage).some((key) => key.startsWith('crosslens.draft/'))")
        assert written(batch) == TEXTS
        assert list(batch.items.values_list("revision", flat=True)) == [1] * SIZE, "once"
        window.wait_for_text(STATE, "Saved")
        window.click("#write button[value=review]")
        window.wait_for_path("/review/")
        window.click("form[action$='/submit/'] button")
        window.wait_for_path("/done/")
        window.wait_for("return (await caches.keys()).length === 0")
    batch.refresh_from_db()
    assert batch.stage == Stage.SUBMITTED


def test_a_private_window_is_told_that_it_has_the_batch_only_if_it_has(
    opened: Opener, profile: Profile, network: Network
) -> None:
    with opened(replace(profile, is_private=True)) as window:
        batch = open_batch(window, network)
        for position in (1, 2):
            window.open(writing(network, batch, position))
            window.wait_for("return document.readyState === 'complete'")
            # Whatever is kept is kept by then.
            time.sleep(SETTLED_S)
        is_told = window.run(IS_KEPT)
        network.down()
        with suppress(DriverError):
            window.open(writing(network, batch, 3))
        assert is_told == (window.count("#write") == 1)
