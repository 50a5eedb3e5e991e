"""On a network of 800 ms and 6 kB/s the next thing to work on is on screen at once; the save follows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from gapgame.models import Turn, TurnOutcome
from gapgame.services import playing as services
from tests.browser import gaming, judging
from tests.browser.annotator import AWAKE, SENT, make_images, open_writing, sign_in, take_batch
from tests.browser.judging import PHONE
from tests.browser.network import Network
from tests.browser.phone import until
from tests.factories import make_annotator, make_round

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE_MS = 200
# Of each step: which one came, whether the server knew already, and how long it took from the key until it was in the
# document with its image.
NOTE_STEPS = """([which, image, isSent]) => {
  let pressedAt = 0;
  addEventListener("keydown", (event) => (pressedAt = event.timeStamp), true);
  const current = () => document.querySelector(which)?.textContent.trim() ?? "";
  let last = current();
  const note = () => {
    if (current() === last) return;
    last = current();
    const detail = [last, document.documentElement.matches(isSent)];
    const start = pressedAt;
    const done = () => performance.measure("step", { start, end: performance.now(), detail });
    const picture = image && document.querySelector(image);
    if (!image || picture.naturalWidth) done();
    else picture.addEventListener("load", done, { once: true });
  };
  new MutationObserver(note).observe(document.body, { childList: true, subtree: true, attributes: true });
}"""
STEPS = "performance.getEntriesByName('step').map(({ detail, duration }) => [...detail, duration])"


class Steps:
    """Steps on a slow network, by key: `which` means what names the thing to work on, `image` its image."""

    def __init__(self, page: Page, network: Network, which: str, image: str = "") -> None:
        self.page = page
        page.wait_for_load_state("networkidle")
        network.slow_down()
        page.evaluate(NOTE_STEPS, [which, image, SENT])

    def check(self, *names: str, is_sent: bool = False) -> None:
        """See that these came, each at once and before the server knew."""
        until(self.page, f"performance.getEntriesByName('step').length === {len(names)}")
        steps = self.page.evaluate(STEPS)
        assert [step[:2] for step in steps] == [[name, is_sent] for name in names]
        assert max(step[2] for step in steps) < AT_ONCE_MS, steps


def rating(page: Page, network: Network) -> None:
    round = make_round(images=4, language="ar")
    make_images(round.collection)
    annotator = make_annotator(round, "amal")
    sign_in(page.context, annotator, network.address)
    page.goto(f"{network.address}/batches/{take_batch(round, annotator).pk}/rate/")
    page.get_by_role("button", name="Continue", exact=True).click()
    steps = Steps(page, network, ".is-current .rate__top > span", ".is-current img")
    for key in "123":
        page.keyboard.press(key)
        page.locator(AWAKE).wait_for()
    steps.check(*(f"Image {number} of 4" for number in (2, 3, 4)))


def writing(page: Page, network: Network) -> None:
    round = make_round(images=4, language="ja")
    make_images(round.collection)
    annotator = make_annotator(round, "aki")
    batch = take_batch(round, annotator)
    open_writing(batch, annotator)
    sign_in(page.context, annotator, network.address)
    page.goto(f"{network.address}/batches/{batch.pk}/write/1/")
    expect(page.locator("[data-kept]")).to_be_visible()
    steps = Steps(page, network, "[data-swap=number]", "#zoom-link img")
    for number in (1, 2, 3):
        page.locator("#text").fill(f"猫が{number}匹いる")
        page.keyboard.press("Enter")
        expect(page).to_have_title(f"Image {number + 1} of 4 · Crosslens")
    steps.check(*(f"{number} of 4" for number in (2, 3, 4)))


def comparing(page: Page, network: Network) -> None:
    desk = judging.sit_down(page, judging.make_pairs(), network.address, "ria")
    steps = Steps(page, network, "[data-number]", ".trial__stage img")
    for key in "123":
        page.keyboard.press(key)
        page.locator(AWAKE).wait_for()
    steps.check(*(f"Pair {number} of 4" for number in (2, 3, 4)))
    desk.expect_choices(3, 2, 1, None)


def playing(page: Page, network: Network) -> None:
    """A guess waits for its score; the sentence after it does not wait, and its time starts when it is shown."""
    table = gaming.sit_down(page, gaming.make_game(batch_size=3), network.address, "ana")
    steps = Steps(page, network, "#turn h1")
    for number in (1, 2):
        with page.expect_response("**/ahead/") as fetched:
            table.guess("cat")
        fetched.value.finished()
        with page.expect_response("**/next/") as told:
            table.go_on()
            expect(page.locator("#turn h1")).to_have_text(f"Sentence {number + 1} of 3")
        assert told.value.status == 204
        expect(page).to_have_url(f"{network.address}{page.locator('#turn').get_attribute('data-url')}")
    # Guesses are no queue of saves: what tells is that the answer, which is awaited above, came after the sentence.
    steps.check("Sentence 2 of 3", "Sentence 3 of 3", is_sent=True)
    turn = Turn.objects.get(outcome=TurnOutcome.OPEN)
    assert turn.fetched_at is not None
    assert turn.opened_at is not None
    assert turn.opened_at > turn.fetched_at


@pytest.mark.parametrize("work", [playing, comparing, rating, writing])
def test_at_800_ms_and_6_kb_a_second_the_next_one_is_there_before_the_server_answered(
    work: Callable[[Page, Network], None], page: Page, live_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MIN_PAUSE", timedelta(0))
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    work(page, Network(live_server.url))
