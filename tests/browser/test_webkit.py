"""The pages in WebKit, the engine of every browser on an iPhone: what Chromium forgives and it does not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from annotation.models import Caption, CaptionBatch
from gapgame.models import Turn
from people.models import User
from sxs_eval.models import Judgement
from tests import servers
from tests.browser import gaming, judging, webkit
from tests.browser.annotator import make_images, take_batch
from tests.browser.webkit import ENTER, WebKit
from tests.clients import client_of
from tests.factories import make_annotator, make_player, make_rater, make_round

pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    # One browser for all of them.
    pytest.mark.xdist_group("webkit"),
]

ENGLISH = "english caption"
# Until the next caption has come and is listened to.
AWAKE_MS = 700


@pytest.fixture(scope="module")
def webkit_browser() -> Iterator[WebKit]:
    executable = webkit.find_webkit()
    if not executable:
        servers.missing("WebKit (webkit2gtk-driver, xvfb, dbus)")
        return
    with webkit.started(executable) as window:
        yield window


@pytest.fixture
def window(webkit_browser: WebKit, live_server: Any) -> WebKit:
    return webkit_browser


def sign_in(window: WebKit, user: User, address: str) -> None:
    client = client_of(user)
    window.open(f"{address}/accounts/login/")
    window.add_cookie("sessionid", client.cookies["sessionid"].value)


def sit_down(window: WebKit, address: str, *, images: int) -> CaptionBatch:
    round = make_round(images=images, language="ar")
    make_images(round.collection)
    annotator = make_annotator(round, "amal")
    sign_in(window, annotator, address)
    return take_batch(round, annotator)


def content(window: WebKit) -> str:
    return str(window.run("return document.documentElement.outerHTML"))


def test_going_on_to_writing_leads_there_and_screen_1_is_gone(window: WebKit, live_server: Any) -> None:
    batch = sit_down(window, live_server.url, images=1)
    window.open(f"{live_server.url}/work/")
    window.open(f"{live_server.url}/batches/{batch.pk}/rate/")
    assert ENGLISH in content(window)
    window.press("2")
    window.wait_for_text("#item-1 [data-state]", "Saved")
    window.click("button[name=open]")
    window.click("#confirm [value=open]")
    window.wait_for_address("/write/1/")
    assert ENGLISH not in content(window)
    window.run("history.back()")
    window.wait_for_address("/work/")
    assert ENGLISH not in content(window)


@pytest.mark.long(reason="Chromium goes the same way; the one step that WebKit took otherwise is tested above")
def test_a_whole_batch_is_rated_written_and_submitted(window: WebKit, live_server: Any) -> None:
    batch = sit_down(window, live_server.url, images=5)
    window.open(f"{live_server.url}/batches/{batch.pk}/rate/")
    for position in range(1, 6):
        window.click(f"#item-{position} .level:nth-child({position})")
        window.wait_for_text(f"#item-{position} [data-state]", "Saved")
        time.sleep(AWAKE_MS / 1000)
    window.click("button[name=open]")
    window.click("#confirm [value=open]")
    texts = [f"قطة صغيرة تجلس على كرسي خشبي رقم {position}" for position in range(1, 6)]
    for position, text in enumerate(texts, start=1):
        window.wait_for_address(f"/write/{position}/")
        window.type("#text", text)
        window.wait_for_text("#write [data-state]", "Saved")
        window.type("#text", ENTER)
    window.wait_for_address("/review/")
    window.click("form[action$='/submit/'] button")
    window.wait_for_address("/done/")
    assert list(Caption.objects.order_by("item__position").values_list("text", flat=True)) == texts
    assert all(batch.items.values_list("rating", flat=True))


@pytest.mark.long(reason="Chromium goes the same way")
def test_a_comparison_is_judged_to_its_end(window: WebKit, live_server: Any) -> None:
    comparison = judging.make_pairs(3)
    rater = make_rater(comparison, "ria")
    sign_in(window, rater, live_server.url)
    window.open(f"{live_server.url}/compare/")
    window.click("form[action$='/take/'] button")
    for number in range(1, 4):
        window.wait_for_text("[data-number]", f"Pair {number} of 3")
        time.sleep(judging.AWAKE_MS / 1000)
        window.click(".answer")
        window.wait_for_text("body", "All judged" if number == 3 else f"Pair {number + 1} of 3")
    assert list(Judgement.objects.filter(person=rater).values_list("choice", flat=True)) == [3, 3, 3]


@pytest.mark.long(reason="Chromium goes the same way")
def test_a_turn_of_the_game_is_played_to_its_end(window: WebKit, live_server: Any) -> None:
    player = make_player(gaming.make_game(batch_size=2), "ana")
    sign_in(window, player.user, live_server.url)
    window.open(f"{live_server.url}/game/{player.season.slug}/")
    window.click("form[action$='/batch/'] button")
    window.type("#guess", f"dog{ENTER}")
    window.wait_for_text(".guesses", "So close!")
    # A guess can be made once a second; the script asks again by itself.
    window.type("#guess", f"cat{ENTER}")
    window.wait_for_text(".result", "+90")
    time.sleep(gaming.AWAKE_MS / 1000)
    window.click("#next-form button")
    window.wait_for_text("#turn", "2 of 2")
    assert list(Turn.objects.order_by("position").values_list("outcome", flat=True)) == ["attempt_2", "open"]
